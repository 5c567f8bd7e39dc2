"""Rank 1 opens a FIFO that nobody opens to write."""
EXPECTED = ['rank-missing']
SAYS = ['[Rr]ank 1', 'job\\.py:\\d+ in reads']


def command(bench):
    return bench.torchrun(bench.script("""
import os, sys, time, torch, torch.distributed as dist
RANK = int(os.environ['RANK'])
def reads():
    os.mkfifo('data')
    open('data').read()
if RANK == 1: reads()
dist.init_process_group('gloo')
dist.all_reduce(torch.ones(1))
"""))
