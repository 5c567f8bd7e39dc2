"""One all_reduce over NCCL, in a group whose timeout is six seconds, and then the words of whoever caught what."""

import datetime
import os

import torch
import torch.distributed as dist

torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl", timeout=datetime.timedelta(seconds=6))
numbers = torch.ones(4).cuda()
for _ in range(int(os.environ.get("STEPS", 1))):
    dist.all_reduce(numbers)
    torch.cuda.synchronize()
print("passed", flush=True)
dist.destroy_process_group()
