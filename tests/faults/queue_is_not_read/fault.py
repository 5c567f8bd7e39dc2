"""Rank 1 joins a child before it has read what the child puts into its queue."""
EXPECTED = ['rank-missing']
SAYS = ['[Rr]ank 1', 'job\\.py:\\d+']


def command(bench):
    return bench.torchrun(bench.script("""
import os, sys, time, torch, torch.distributed as dist
RANK = int(os.environ['RANK'])
import multiprocessing as mp
mp = mp.get_context('fork')
def fill(queue): queue.put(b'x' * 5_000_000)
def joins():
    queue = mp.Queue()
    child = mp.Process(target=fill, args=(queue,))
    child.start()
    child.join()
if RANK == 1: joins()
dist.init_process_group('gloo')
dist.all_reduce(torch.ones(1))
"""))
