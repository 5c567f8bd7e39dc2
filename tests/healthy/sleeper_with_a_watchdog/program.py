"""A rank works beside a watchdog thread of its own, which sleeps and wakes."""


def command(bench):
    return bench.train("""
import threading
over = threading.Event()
def watch():
    while not over.wait(1.0): pass
threading.Thread(target=watch, daemon=True).start()
if RANK == 1: late()
over.set()
""")
