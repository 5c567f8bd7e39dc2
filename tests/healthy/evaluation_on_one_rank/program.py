"""Rank 0 evaluates before it trains, and the others wait for it in a barrier."""


def command(bench):
    return bench.train("""
import torch, torch.distributed as dist
device = own_device()
dist.init_process_group(BACKEND)
if RANK == 0: work(12)
dist.barrier()
say(f"rank {RANK}")
dist.destroy_process_group()
""", end="")
