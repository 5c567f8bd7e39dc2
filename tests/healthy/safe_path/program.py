"""PYTHONSAFEPATH is set: the script's own folder is not on the path."""
import sys

CUDA = "it has no torch"


def command(bench):
    bench.env["PYTHONSAFEPATH"] = "1"
    return [sys.executable, bench.script("import sys\nprint(any('safelaunch-bench' in entry for entry in sys.path))\n")]
