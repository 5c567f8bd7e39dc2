"""Steps whose collectives are called in backward: HOW=ddp by the buckets of DDP, HOW=hook by a hook of the program's own."""

import os

import torch
import torch.distributed as dist

device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
torch.cuda.set_device(device)
dist.init_process_group("nccl")
model = torch.nn.LayerNorm(8).to(device)
if os.environ["HOW"] == "ddp":
    model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[device.index])
else:
    for parameter in model.parameters():
        parameter.register_hook(lambda gradient: dist.all_reduce(gradient))


def step():
    model(torch.ones(4, 8, device=device)).sum().backward()
    torch.cuda.synchronize()


for _ in range(20):
    step()
print("passed", flush=True)
dist.destroy_process_group()
