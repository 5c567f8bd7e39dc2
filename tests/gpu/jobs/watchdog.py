"""Rank 1 never comes to the second all_reduce, and the process group's own timeout of six seconds ends rank 0.

The second, as torch's watchdog watches collectives and not NCCL's init, which is part of the first one.
"""

import datetime
import threading

import one_gpu  # noqa: F401  (before torch)
import torch
import torch.distributed as dist

torch.cuda.set_device(0)
dist.init_process_group("nccl", timeout=datetime.timedelta(seconds=6))
ones = torch.ones(1).cuda()
dist.all_reduce(ones)
torch.cuda.synchronize()
if dist.get_rank() == 1:
    threading.Event().wait()
dist.all_reduce(ones)
torch.cuda.synchronize()
