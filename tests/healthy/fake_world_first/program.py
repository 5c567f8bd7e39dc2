"""Each rank first makes a fake world of eight, in which it is rank 0; then the real one, for which rank 1 is late."""

CUDA = "the fake world has no device"


def command(bench):
    return bench.train("""
import torch, torch.distributed as dist
from torch.testing._internal.distributed.fake_pg import FakeStore
dist.init_process_group("fake", rank=0, world_size=8, store=FakeStore())
dist.all_reduce(torch.ones(1))
say(f"a fake world of {dist.get_world_size()}")
dist.destroy_process_group()
if RANK == 1: late()
""")
