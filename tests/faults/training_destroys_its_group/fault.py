"""Rank 1 destroys its group and exits; rank 0 goes on."""
EXPECTED = ["rank-left"]
SAYS = ['[Rr]ank 1']


def command(bench):
    return bench.stands_still("""
if RANK == 1:
    dist.destroy_process_group()
    sys.exit(0)
steps(5)
""")
