"""A rank may have few descriptors, and little stack for its threads."""


def command(bench):
    return bench.train("""
import resource, threading
resource.setrlimit(resource.RLIMIT_NOFILE, (96, 96))
threading.stack_size(256 * 1024)
if RANK == 1: late()
""")
