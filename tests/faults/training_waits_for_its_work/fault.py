"""Rank 0 waits for an asynchronous all_reduce, rank 1 never calls it."""
EXPECTED = ["training-stalled"]
SAYS = ['[Rr]ank 1', 'job\\.py:\\d+']


def command(bench):
    return bench.stands_still("""
if RANK == 1: sleeps()
dist.all_reduce(torch.ones(4), async_op=True).wait()
""")
