"""Every warning is an error (-W error)."""
import sys

CUDA = "it has no torch"


def command(bench):
    return [sys.executable, "-W", "error", bench.script("import sys\nprint(len(sys.argv), sys.flags)\n"), "word"]
