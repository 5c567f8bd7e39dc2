"""FSDP2 over a small transformer, then DDP over a convolution, by two ranks."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

device = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(device)
dist.init_process_group("nccl")


def train(module, inputs):
    optimizer = torch.optim.AdamW(module.parameters())
    for _ in range(3):
        loss = module(inputs).sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        loss.item()


encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 4, 32, batch_first=True), 2).cuda()
for layer in encoder.layers:
    fully_shard(layer)
train(fully_shard(encoder), torch.zeros(2, 5, 16).cuda())
train(DistributedDataParallel(nn.Conv2d(3, 8, 3).cuda(), device_ids=[device]), torch.zeros(2, 3, 16, 16).cuda())
dist.destroy_process_group()
print("trained")
