"""new_group is called once by each rank, with the members of its own group only."""
EXPECTED = ['ranks-disagree']
SAYS = ['new_group|group', '0 3', '1 2']


def command(bench):
    return bench.torchrun(bench.job("""
mine = [0, 3] if RANK in (0, 3) else [1, 2]
group = dist.new_group(mine)
dist.all_reduce(torch.ones(1), group=group)
time.sleep(3600)
"""), ranks=4)
