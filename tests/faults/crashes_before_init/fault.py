"""Rank 1 reads address 0 in C before init."""
EXPECTED = ['rank-crashed', 'rank-died']
SAYS = ['[Rr]ank 1', 'SIGSEGV']


def command(bench):
    return bench.torchrun(bench.script("""
import os, sys, time, torch, torch.distributed as dist
RANK = int(os.environ['RANK'])
import ctypes
if RANK == 1: ctypes.string_at(0)
dist.init_process_group('gloo')
dist.all_reduce(torch.ones(1))
"""))
