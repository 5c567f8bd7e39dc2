"""The user looks at import times, which Python writes to stderr."""
import sys

CUDA = "it has no torch"


def command(bench):
    return [sys.executable, "-X", "importtime", bench.script("import sys\nprint(len(sys.argv), sys.flags)\n"), "word"]
