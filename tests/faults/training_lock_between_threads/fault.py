"""Two threads of rank 1 wait for a lock that its main thread holds and asks for again."""
EXPECTED = ["training-stalled"]
SAYS = ['[Rr]ank 1', 'job\\.py:\\d+ in take']


def command(bench):
    return bench.stands_still("""
import threading
lock = threading.Lock()
def take(): lock.acquire()
if RANK == 1:
    take()
    threading.Thread(target=take, daemon=True).start()
    take()
steps(5)
""")
