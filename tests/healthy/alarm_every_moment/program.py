"""A timer's SIGALRM interrupts the rank fifty times a second, in its work and in its waits."""


def command(bench):
    return bench.train("""
import atexit, signal
ticks = 0
def tick(number, frame):
    global ticks
    ticks += 1
signal.signal(signal.SIGALRM, tick)
signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
atexit.register(signal.setitimer, signal.ITIMER_REAL, 0)
if RANK == 1: late()
""")
