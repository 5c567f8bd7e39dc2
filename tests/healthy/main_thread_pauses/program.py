"""The main thread waits for a signal, while a worker thread works, makes the world and sends it."""
from workbench import MEET, indent


def command(bench):
    return bench.train("""
import signal, threading
def train():
    if RANK == 1: late()
    meet()
    os.kill(os.getpid(), signal.SIGUSR1)
def meet():
""" + indent(MEET) + """
signal.signal(signal.SIGUSR1, lambda *_: None)
thread = threading.Thread(target=train)
thread.start()
signal.pause()
thread.join()
say("end")
""", end="")
