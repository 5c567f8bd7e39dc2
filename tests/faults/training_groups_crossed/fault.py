"""Each rank calls first in the group that the other calls second."""
EXPECTED = ["ranks-disagree"]
SAYS = ['job\\.py:\\d+']


def command(bench):
    return bench.stands_still("""
one, other = dist.new_group([0, 1]), dist.new_group([0, 1])
steps(5, one); steps(5, other)
for group in (one, other) if RANK == 0 else (other, one): dist.all_reduce(torch.ones(4), group=group)
""")
