"""Rank 1 has no data and exits with 0 after init; rank 0 goes on to its first all_reduce."""
EXPECTED = ['rank-left']
SAYS = ['[Rr]ank 1']


def command(bench):
    return bench.torchrun(bench.job("""
if RANK == 1: sys.exit(0)
dist.all_reduce(torch.ones(1))
"""))
