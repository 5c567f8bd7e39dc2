"""Three lines that never load torch."""
import sys

CUDA = "it has no torch"
QUICK = True


def command(bench):
    return [sys.executable, "-c", "import random; random.seed(1); print(random.random())"]
