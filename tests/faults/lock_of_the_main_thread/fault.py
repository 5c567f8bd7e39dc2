"""Rank 1 joins the thread that trains while it holds the lock that the thread needs."""
EXPECTED = ['rank-missing']
SAYS = ['[Rr]ank 1', 'job\\.py:\\d+']


def command(bench):
    return bench.torchrun(bench.script("""
import os, sys, time, torch, torch.distributed as dist
RANK = int(os.environ['RANK'])
import threading
lock = threading.Lock()
def train():
    with lock: dist.init_process_group('gloo')
thread = threading.Thread(target=train)
def joins():
    with lock:
        thread.start()
        thread.join()
joins() if RANK == 1 else train()
"""))
