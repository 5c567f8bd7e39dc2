"""A call into C holds the GIL for seconds, again and again, before the rank comes to the first collective."""
CUDA = True


def command(bench):
    return bench.on_gpus("""
if RANK == 0:
    for _ in range(3):
        ctypes.PyDLL(None).usleep(4000000)
        work(0.3)
""")
