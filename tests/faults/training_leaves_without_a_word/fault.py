"""Rank 1 calls os._exit(0) while rank 0 goes on."""
EXPECTED = ["rank-left"]
SAYS = ['[Rr]ank 1']


def command(bench):
    return bench.stands_still("""
if RANK == 1: os._exit(0)
steps(5)
""")
