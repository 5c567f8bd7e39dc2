"""Collectives of subgroups come first; then a rank works, and a DDP model meets in the world."""


def command(bench):
    return bench.train("""
import torch, torch.distributed as dist
device = own_device()
dist.init_process_group(BACKEND)
pair = dist.new_group([0, 1])
if RANK < 2: dist.all_reduce(torch.ones(1).to(device), group=pair)
if RANK == 2: work(10)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2).to(device))
model(torch.ones(1, 2).to(device)).sum().backward()
say(f"{float(model.module.weight.grad.sum()):.1f}")
dist.destroy_process_group()
""", end="", ranks=3)
