"""Rank 1's main thread ends; another one works for long and then trains."""
from workbench import MEET, indent


def command(bench):
    return bench.train("""
import ctypes, threading
def train():
    if RANK == 1: late()
    meet()
    sys.stdout.flush()
    os._exit(0)
def meet():
""" + indent(MEET) + """
if RANK == 1:
    threading.Thread(target=train).start()
    ctypes.CDLL(None).pthread_exit(None)
train()
""", end="")
