"""A monitored barrier, for which a rank is late."""

CUDA = "only gloo has this barrier"


def command(bench):
    return bench.train("""
import torch.distributed as dist
from datetime import timedelta
dist.init_process_group("gloo")
if RANK == 1: work(10)
dist.monitored_barrier(timeout=timedelta(seconds=60))
say(f"rank {RANK} passed")
dist.destroy_process_group()
""", end="")
