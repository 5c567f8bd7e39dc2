"""All-reduces until something goes wrong, each followed by a wait for it."""

import os

import torch
import torch.distributed as dist

torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
x = torch.ones(4).cuda()
for step in range(1, 6):
    dist.all_reduce(x)
    torch.cuda.synchronize()
    print("finished", step, flush=True)
dist.destroy_process_group()  # else torch itself now and then aborts at its exit
