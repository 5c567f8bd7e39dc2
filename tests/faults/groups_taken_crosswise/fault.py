"""Two ranks take two groups in opposite order."""
EXPECTED = ['ranks-disagree']
SAYS = ['0.*1', 'group']


def command(bench):
    return bench.torchrun(bench.job("""
small, large = dist.new_group([0, 1]), dist.new_group([0, 1, 2])
for group in ([small, large] if RANK == 0 else [large, small] if RANK == 1 else [large]):
    dist.all_reduce(torch.ones(1), group=group)
"""), ranks=3)
