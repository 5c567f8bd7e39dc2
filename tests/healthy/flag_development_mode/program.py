"""Python's development mode (-X dev) tells of every file that is not closed."""
import sys

CUDA = "it has no torch"


def command(bench):
    return [sys.executable, "-X", "dev", bench.script("import sys\nprint(len(sys.argv), sys.flags)\n"), "word"]
