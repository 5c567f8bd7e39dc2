"""Each rank broadcasts to the other."""
EXPECTED = ["training-stalled"]
SAYS = ['job\\.py:\\d+']


def command(bench):
    return bench.stands_still("""
dist.broadcast(torch.ones(4), RANK)
dist.broadcast(torch.ones(4), RANK)
dist.barrier()
""")
