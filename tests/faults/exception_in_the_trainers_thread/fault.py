"""The trainer runs in a thread of rank 1 and raises there; the main thread waits for its word."""
EXPECTED = ['user-exception']
SAYS = ['[Rr]ank 1', 'no data']


def command(bench):
    return bench.torchrun(bench.script("""
import os, sys, time, torch, torch.distributed as dist
RANK = int(os.environ['RANK'])
import threading
done = threading.Event()
def train(): raise ValueError('no data')
if RANK == 1:
    threading.Thread(target=train).start()
    done.wait()
dist.init_process_group('gloo')
dist.all_reduce(torch.ones(1))
"""))
