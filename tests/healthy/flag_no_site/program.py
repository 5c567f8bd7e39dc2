"""Python without site (-S): no sitecustomize is ever read."""
import sys


def command(bench):
    return [sys.executable, "-S", bench.script("import sys\nprint(len(sys.argv), sys.flags)\n"), "word"]
