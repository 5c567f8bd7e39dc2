"""FSDP shards a model, and its checkpoint is written in the background (async_save over gloo) while the training goes on."""
from workbench import ON_GPUS

CUDA = True


def command(bench):
    return bench.on_gpus("""
import torch.distributed.checkpoint as dcp
from torch.distributed.fsdp import fully_shard
dist.init_process_group("cpu:gloo,cuda:nccl")
model = torch.nn.Linear(2, 2).to(device)
fully_shard(model)
if RANK == 1: work(10)
saved = dcp.async_save(model.state_dict(), checkpoint_id="checkpoint")
model(torch.ones(1, 2).to(device)).sum().backward()
saved.result()
say(f"rank {RANK}: {os.path.exists('checkpoint/.metadata')}")
""", begin=ON_GPUS)
