"""new_group on subsets of the ranks, and one rank is late for the first of them."""


def command(bench):
    return bench.train("""
import torch, torch.distributed as dist
device = own_device()
dist.init_process_group(BACKEND)
if RANK == 1: work(10)
groups = [dist.new_group(ranks) for ranks in ([0, 1], [1, 2], [0, 1, 2])]
for number, group in enumerate(groups):
    if dist.get_rank(group) >= 0:
        total = torch.ones(1).to(device)
        dist.all_reduce(total, group=group)
        say(f"rank {RANK}, group {number}: {int(total)}")
dist.destroy_process_group()
""", end="", ranks=3)
