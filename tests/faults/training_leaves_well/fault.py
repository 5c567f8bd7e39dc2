"""Rank 1 exits with 0 while rank 0 goes on."""
EXPECTED = ["rank-left"]
SAYS = ['[Rr]ank 1']


def command(bench):
    return bench.stands_still("""
if RANK == 1: sys.exit(0)
steps(5)
""")
