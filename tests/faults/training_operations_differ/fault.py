"""Rank 0 calls all_reduce, rank 1 all_gather."""
EXPECTED = ["ranks-disagree"]
SAYS = ['all_gather', 'all_reduce', 'job\\.py:\\d+']


def command(bench):
    return bench.stands_still("""
if RANK == 0: dist.all_reduce(torch.ones(4))
else: dist.all_gather([torch.ones(4), torch.ones(4)], torch.ones(4))
""")
