"""Python that ignores its environment (-E)."""
import sys

CUDA = "it has no torch"


def command(bench):
    return [sys.executable, "-E", bench.script("import sys\nprint(len(sys.argv), sys.flags)\n"), "word"]
