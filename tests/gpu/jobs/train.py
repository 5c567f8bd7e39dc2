"""A DDP training of a few steps, several ranks on one GPU. Prints the loss of the last step on rank 0."""

import os
import sys
import threading

import one_gpu  # noqa: F401  (before torch)
import torch
import torch.distributed as dist

if os.environ.get("RANK") == os.environ.get("ABSENT_RANK"):
    threading.Event().wait()
torch.manual_seed(0)
dist.init_process_group(os.environ.get("BACKEND", "nccl"))
ones = torch.ones(1, device="cuda")
dist.all_reduce(ones)
assert int(ones.item()) == dist.get_world_size(), ones
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 2, device="cuda"))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
inputs = torch.randn(32, 64, generator=torch.Generator().manual_seed(dist.get_rank())).cuda()
for _ in range(5):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(inputs), (inputs.sum(1) > 0).long())
    loss.backward()
    optimizer.step()
torch.cuda.synchronize()
if dist.get_rank() == 0:
    print(f"trained on {dist.get_world_size()} ranks with {dist.get_backend()}: loss {loss.item():.4f}", flush=True)
dist.destroy_process_group()
