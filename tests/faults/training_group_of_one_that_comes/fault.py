"""Rank 0 makes a group with rank 1, which sleeps."""
EXPECTED = ["training-stalled"]
SAYS = ['[Rr]ank 1', 'job\\.py:\\d+']


def command(bench):
    return bench.stands_still("""
if RANK == 1: sleeps()
dist.new_group([0, 1])
""")
