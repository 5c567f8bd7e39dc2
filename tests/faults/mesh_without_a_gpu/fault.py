"""A mesh for CUDA is asked for on a machine without a GPU."""
EXPECTED = ['no-gpu']


def command(bench):
    return bench.torchrun(bench.script("""
import os, sys, time, torch, torch.distributed as dist
RANK = int(os.environ['RANK'])
from torch.distributed.device_mesh import init_device_mesh
init_device_mesh('cuda', (2,))
"""))
