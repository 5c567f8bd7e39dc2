"""Asynchronous collectives are waited for only after ten seconds of work."""


def command(bench):
    return bench.train("""
import torch, torch.distributed as dist
device = own_device()
dist.init_process_group(BACKEND)
keep = [torch.ones(1000).to(device) for _ in range(3)]
works = [dist.all_reduce(one, async_op=True) for one in keep]
if RANK == 1: work(10)
for one in works: one.wait()
dist.barrier()
say(f"rank {RANK}: {int(keep[0][0])}")
dist.destroy_process_group()
""", end="")
