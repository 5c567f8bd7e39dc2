"""Python is isolated (-I): it reads neither PYTHON variables nor the user's site."""
import sys

CUDA = "it has no torch"
QUICK = True


def command(bench):
    return [sys.executable, "-I", bench.script("import sys\nprint(len(sys.argv), sys.flags)\n"), "word"]
