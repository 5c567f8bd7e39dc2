"""Rank 1 is stopped (SIGSTOP) between two steps."""
EXPECTED = ["training-stalled"]
SAYS = ['[Rr]ank 1 is stopped']


def command(bench):
    return bench.stands_still("""
import signal
if RANK == 1: os.kill(os.getpid(), signal.SIGSTOP)
steps(5)
""")
