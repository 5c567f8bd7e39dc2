"""10,000 small all_reduces, timed in five rounds: what the hook and the plugin cost in training."""

import sys
import time

import one_gpu  # noqa: F401  (before torch)
import torch
import torch.distributed as dist

COUNT = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
dist.init_process_group("nccl", device_id=torch.device("cuda", 0))
ones = torch.ones(1, device="cuda")
for _ in range(200):
    dist.all_reduce(ones)
torch.cuda.synchronize()
rounds = []
for _ in range(5):
    began = time.perf_counter()
    for _ in range(COUNT // 5):
        dist.all_reduce(ones)
    torch.cuda.synchronize()
    rounds.append((time.perf_counter() - began) / (COUNT // 5) * 1e6)
if dist.get_rank() == 0:
    print(f"median {sorted(rounds)[2]:.3f} us an all_reduce", flush=True)
dist.destroy_process_group()
