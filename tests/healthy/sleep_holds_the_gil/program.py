"""A call into C sleeps with the GIL held, and then works."""


def command(bench):
    return bench.train("""
import ctypes
if RANK == 0:
    for _ in range(3):
        ctypes.PyDLL(None).usleep(4000000)
        work(0.3)
""")
