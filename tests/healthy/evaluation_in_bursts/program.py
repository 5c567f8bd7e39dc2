"""Rank 0 evaluates in bursts, and sleeps between them; the others wait for it in a barrier."""


def command(bench):
    return bench.train("""
import torch, torch.distributed as dist
device = own_device()
dist.init_process_group(BACKEND)
if RANK == 0:
    for _ in range(14):
        time.sleep(0.7)
        work(0.3)
dist.barrier()
say(f"rank {RANK}")
dist.destroy_process_group()
""", end="")
