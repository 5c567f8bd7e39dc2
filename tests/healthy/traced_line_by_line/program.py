"""sys.settrace and threading.settrace look at every call of the rank."""


def command(bench):
    return bench.train("""
import threading
calls = 0
def look(frame, event, argument):
    global calls
    calls += 1
threading.settrace(look)
sys.settrace(look)
def tokenise(number): return number % 7
if RANK == 1:
    late(0)
    end = time.monotonic() + 9
    while time.monotonic() < end: sum(map(tokenise, range(1000)))
sys.settrace(None)
say(f"rank {RANK}: {calls > 0}")
""")
