"""The child that fills rank 1's queue is killed, as for want of memory; rank 1 waits for the queue."""
EXPECTED = ["training-stalled"]
SAYS = ['[Rr]ank 1', 'job\\.py:\\d+ in load']


def command(bench):
    return bench.stands_still("""
import multiprocessing, signal
def fill(queue): os.kill(os.getpid(), signal.SIGKILL)
def load():
    queue = multiprocessing.get_context('fork').Queue()
    multiprocessing.get_context('fork').Process(target=fill, args=(queue,), daemon=True).start()
    return queue.get()
if RANK == 1: load()
steps(5)
""")
