"""Threads give the GIL away every two seconds only."""


def command(bench):
    return bench.train("""
sys.setswitchinterval(2)
import threading
if RANK == 1:
    threads = [threading.Thread(target=late) for _ in range(2)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
""")
