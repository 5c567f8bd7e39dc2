"""Each rank makes a world of two by mp.spawn, which meets in a file; a child of rank 0 is late, then the ranks meet."""

CUDA = "its worlds ask for gloo"


def command(bench):
    return bench.torchrun(bench.script("""
import os, sys, time, torch, torch.distributed as dist, torch.multiprocessing as mp
RANK = int(os.environ["RANK"])
def child(number, path, outer):
    end = time.monotonic() + (12 if (outer, number) == (0, 1) else 0)
    while time.monotonic() < end: sum(range(10000))
    dist.init_process_group("gloo", init_method="file://" + path, rank=number, world_size=2)
    total = torch.ones(1)
    dist.all_reduce(total)
    dist.barrier()
    sys.stdout.write(f"child {number} of {outer}: {int(total)}\\n")
    dist.destroy_process_group()
if __name__ == "__main__":
    mp.spawn(child, (os.path.join(os.getcwd(), f"init{RANK}"), RANK), 2)
    dist.init_process_group("gloo")
    total = torch.ones(1)
    dist.all_reduce(total)
    dist.barrier()
    sys.stdout.write(f"rank {RANK}: {int(total)}\\n")
    dist.destroy_process_group()
"""), options=["--standalone"])
