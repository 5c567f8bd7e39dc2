"""The program is a string (-c), unbuffered (-u)."""
import sys

CUDA = "it has no torch"


def command(bench):
    return [sys.executable, "-u", "-c", "import sys; print(sys.argv, sys.flags)", "word"]
