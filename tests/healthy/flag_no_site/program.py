"""Python without site (-S): no sitecustomize is ever read."""
import sys

CUDA = "it has no torch"


def command(bench):
    return [sys.executable, "-S", bench.script("import sys\nprint(len(sys.argv), sys.flags)\n"), "word"]
