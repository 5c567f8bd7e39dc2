"""strace watches rank 1, which sleeps for ever before init."""
import shutil

from workbench import Impossible

EXPECTED = ["rank-missing"]


def make(bench):
    if not shutil.which("strace"):
        raise Impossible("there is no strace")


def command(bench):
    script = bench.script("import os, time, torch.distributed as dist\n"
                          "if os.environ['RANK'] == '1': time.sleep(1000)\ndist.init_process_group('gloo')\n")
    return bench.torchrun("strace", "-f", "-o", "/dev/null", "-e", "trace=none", "python", script, options=["--no-python"])
