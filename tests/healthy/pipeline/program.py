"""A pipeline: each stage receives, works for longer than anybody would wait, and sends."""


def command(bench):
    return bench.train("""
import torch, torch.distributed as dist
device = own_device()
dist.init_process_group(BACKEND)
value = torch.zeros(1).to(device)
if RANK > 0: dist.recv(value, RANK - 1)
if RANK < WORLD - 1: work(10)
value += 1
if RANK < WORLD - 1: dist.send(value, RANK + 1)
say(f"stage {RANK}: {int(value)}")
dist.barrier()
dist.destroy_process_group()
""", end="", ranks=3)
