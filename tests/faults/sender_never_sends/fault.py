"""Rank 0 receives what rank 1, which waits in a queue of its own, never sends."""
EXPECTED = ['rank-missing']
SAYS = ['[Rr]ank 1', 'job\\.py:\\d+ in never_filled']


def command(bench):
    return bench.torchrun(bench.job("""
import queue
def never_filled(): queue.Queue().get()
if RANK == 1: never_filled()
dist.recv(torch.zeros(4), 1)
"""))
