"""Rank 0 alone reduces what it logs; from then on the ranks are one collective apart."""
EXPECTED = ["ranks-disagree"]
SAYS = ['job\\.py:\\d+']


def command(bench):
    return bench.stands_still("""
if RANK == 0: dist.reduce(torch.ones(1), 0)
steps(5)
""")
