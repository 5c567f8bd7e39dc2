"""FSDP2 on the ranks' halves of a batch; prints the weights' sum, which must equal that of one process on it all."""

import os

import one_gpu  # noqa: F401  (before torch)
import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard


def train(model, inputs):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        optimizer.zero_grad()
        model(inputs).square().mean().backward()
        optimizer.step()
    return model


def new_model():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1)).cuda()


def weight_sum(parameters):
    return sum(p.double().abs().sum() for p in parameters).item()


dist.init_process_group(os.environ.get("BACKEND", "nccl"))
rank, world = dist.get_rank(), dist.get_world_size()
batch = torch.randn(32, 16, generator=torch.Generator().manual_seed(1)).cuda()
mesh = dist.device_mesh.DeviceMesh("cuda", list(range(world)))
sharded = train(fully_shard(new_model(), mesh=mesh), batch.chunk(world)[rank])
together = weight_sum(p.full_tensor() for p in sharded.parameters())
alone = weight_sum(train(new_model(), batch).parameters())
if rank == 0:
    print(f"{dist.get_backend()}: {together:.6f} together, {alone:.6f} alone, off by {abs(together - alone) / alone:.1e}", flush=True)
    assert abs(together - alone) < 1e-5 * alone
dist.destroy_process_group()
