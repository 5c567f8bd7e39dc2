"""Each rank runs below strace, which stops it at every call."""
import shutil

from workbench import Impossible, free_port


def make(bench):
    if not shutil.which("strace"):
        raise Impossible("there is no strace")


def command(bench):
    script = bench.program("if RANK == 1: late()\n")
    return bench.torchrun("strace", "-f", "-o", "/dev/null", "-e", "trace=socket", "python", script,
                          options=["--no-python", f"--master_port={free_port()}"])
