"""Gradients are accumulated: between the collectives, the first of them too, each rank computes for long."""


def command(bench):
    return bench.train("""
import torch, torch.distributed as dist
device = own_device()
dist.init_process_group(BACKEND)
total = torch.zeros(1).to(device)
for step in range(2):
    for _ in range(8):
        work(0.5 + 0.6 * RANK)
        total += 1
    dist.all_reduce(total)
say(f"rank {RANK}: {int(total)}")
dist.destroy_process_group()
""", end="")
