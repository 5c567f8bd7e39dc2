"""Rank 1 raises, and its finally waits in a barrier, so that nobody sees the traceback."""
EXPECTED = ["training-stalled"]
SAYS = ['[Rr]ank 1', 'ValueError: bad batch 17']


def command(bench):
    return bench.stands_still("""
try:
    if RANK == 1: raise ValueError('bad batch 17')
    steps(5)
finally:
    dist.barrier()
    dist.barrier()
""")
