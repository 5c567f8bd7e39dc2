"""Rank 1 reads what a child of its is to send, and the child sleeps."""
EXPECTED = ["training-stalled"]
SAYS = ['[Rr]ank 1', 'job\\.py:\\d+ in load']


def command(bench):
    return bench.stands_still("""
import subprocess
def load(): return subprocess.Popen(['sleep', '1000'], stdout=subprocess.PIPE).stdout.read()
if RANK == 1: load()
steps(5)
""")
