"""Of a broadcast each rank takes the other for the source."""
EXPECTED = ['ranks-disagree', 'collective-stuck']
SAYS = ['job\\.py:\\d+', 'broadcast']


def command(bench):
    return bench.torchrun(bench.job("""
dist.broadcast(torch.ones(1), 1 - RANK)
"""))
