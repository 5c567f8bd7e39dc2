"""Each rank receives from the other first."""
EXPECTED = ["training-stalled"]
SAYS = ['job\\.py:\\d+']


def command(bench):
    return bench.stands_still("""
dist.recv(torch.ones(4), 1 - RANK)
""")
