"""Rank 0 gathers objects of both, rank 1 sleeps."""
EXPECTED = ["training-stalled"]
SAYS = ['[Rr]ank 1', 'job\\.py:\\d+']


def command(bench):
    return bench.stands_still("""
if RANK == 1: sleeps()
dist.all_gather_object([None, None], 'x')
""")
