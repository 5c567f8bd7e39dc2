"""What init, the first all_reduce and later ones take; prints them as JSON on rank 0."""

import json
import time

import one_gpu  # noqa: F401  (before torch)
import torch
import torch.distributed as dist

LATER = 500
torch.cuda.set_device(0)
ones = torch.ones(1).cuda()
torch.cuda.synchronize()
began = time.perf_counter()
dist.init_process_group("nccl")
initialized = time.perf_counter()
dist.all_reduce(ones)
torch.cuda.synchronize()
first = time.perf_counter()
for _ in range(LATER):
    dist.all_reduce(ones)
torch.cuda.synchronize()
later = time.perf_counter()
if dist.get_rank() == 0:
    seconds = {"init_process_group": initialized - began, "first all_reduce": first - initialized,
               "a later all_reduce": (later - first) / LATER}
    print(json.dumps({name: 1e6 * took for name, took in seconds.items()}), flush=True)
dist.destroy_process_group()
