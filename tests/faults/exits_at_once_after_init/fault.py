"""Rank 1 ends by os._exit(0) after init, without a word to anybody."""
EXPECTED = ['rank-left', 'rank-died']
SAYS = ['[Rr]ank 1']


def command(bench):
    return bench.torchrun(bench.job("""
if RANK == 1: os._exit(0)
dist.all_reduce(torch.ones(1))
"""))
