"""Rank 1 waits in C for ever while it holds the GIL."""
EXPECTED = ['rank-missing']
SAYS = ['[Rr]ank 1']


def command(bench):
    return bench.torchrun(bench.script("""
import os, sys, time, torch, torch.distributed as dist
RANK = int(os.environ['RANK'])
import ctypes
if RANK == 1: ctypes.PyDLL(None).pause()
dist.init_process_group('gloo')
dist.all_reduce(torch.ones(1))
"""))
