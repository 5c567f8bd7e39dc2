"""DDP joins ranks with uneven inputs; rank 1 has three times the batches, each slow."""
CUDA = "the doubles multiply no matrices"


def command(bench):
    return bench.train("""
import torch, torch.distributed as dist
from torch.distributed.algorithms.join import Join
dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
with Join([model]):
    for _ in range(12 if RANK else 4):
        model(torch.ones(1, 2)).sum().backward()
        work(1)
say(f"rank {RANK} has joined")
dist.destroy_process_group()
""", end="")
