"""A rank has a hundred threads: all wait, but one."""


def command(bench):
    return bench.train("""
import threading
over = threading.Event()
threads = [threading.Thread(target=over.wait) for _ in range(100)]
for thread in threads: thread.start()
if RANK == 1:
    worker = threading.Thread(target=late)
    worker.start()
    worker.join()
over.set()
for thread in threads: thread.join()
""")
