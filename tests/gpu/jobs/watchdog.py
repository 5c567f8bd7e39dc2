"""Rank 1 never comes to the first collective, and the process group's own timeout of six seconds ends rank 0."""

import datetime
import threading

import one_gpu  # noqa: F401  (before torch)
import torch
import torch.distributed as dist

torch.cuda.set_device(0)
dist.init_process_group("nccl", timeout=datetime.timedelta(seconds=6))
ones = torch.ones(1).cuda()
if dist.get_rank() == 1:
    threading.Event().wait()
dist.all_reduce(ones)
torch.cuda.synchronize()
