"""All ranks end by os._exit, without any of Python's farewells, after they have met."""


def command(bench):
    return bench.train("""
import torch, torch.distributed as dist
device = own_device()
dist.init_process_group(BACKEND)
dist.barrier()
say(f"rank {RANK} leaves")
dist.barrier()
os._exit(0)
""", end="")
