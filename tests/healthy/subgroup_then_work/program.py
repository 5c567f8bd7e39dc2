"""A subgroup has had its first collective; one of its ranks works on, and the world waits for it."""


def command(bench):
    return bench.train("""
import torch, torch.distributed as dist
device = own_device()
dist.init_process_group(BACKEND)
pair = dist.new_group([0, 1])
if RANK < 2: dist.all_reduce(torch.ones(1).to(device), group=pair)
if RANK == 0: work(14)
total = torch.ones(1).to(device)
dist.all_reduce(total)
say(f"rank {RANK}: {int(total)}")
dist.destroy_process_group()
""", end="", ranks=3)
