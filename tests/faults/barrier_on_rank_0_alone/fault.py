"""The barrier stands below `if rank == 0`; rank 1 waits in a queue."""
EXPECTED = ['rank-missing']
SAYS = ['[Rr]ank 1', 'barrier', 'job\\.py:\\d+ in never_filled']


def command(bench):
    return bench.torchrun(bench.job("""
import queue
def never_filled(): queue.Queue().get()
if RANK == 0: dist.barrier()
never_filled()
"""))
