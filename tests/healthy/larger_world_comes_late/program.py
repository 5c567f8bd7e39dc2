"""A world of two by mp.spawn trains and ends; the last rank of the next one, of three, works before it comes."""
import sys

CUDA = "its worlds ask for gloo"


def command(bench):
    return [sys.executable, bench.script("""
import os, sys, time, torch, torch.distributed as dist, torch.multiprocessing as mp
def train(rank, world):
    end = time.monotonic() + (16 if rank == 2 else 0)
    while time.monotonic() < end: sum(range(10000))
    dist.init_process_group("gloo", init_method=f"file://{os.getcwd()}/meeting-{world}", rank=rank, world_size=world)
    total = torch.ones(1)
    for step in range(3): dist.all_reduce(total)
    dist.barrier()
    if rank == 0: sys.stdout.write(f"{world} ranks: {int(total)}\\n")
    dist.destroy_process_group()
if __name__ == "__main__":
    for world in (2, 3): mp.spawn(train, (world,), nprocs=world)
""")]
