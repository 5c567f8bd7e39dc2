"""A thread of each rank says every half second that it is alive; rank 1's main thread sleeps."""
EXPECTED = ["training-stalled"]
SAYS = ['[Rr]ank 1', 'job\\.py:\\d+ in sleeps']


def command(bench):
    return bench.stands_still("""
import threading
def beat():
    while True: print('alive', RANK, flush=True); time.sleep(0.5)
threading.Thread(target=beat, daemon=True).start()
if RANK == 1: sleeps()
steps(5)
""")
