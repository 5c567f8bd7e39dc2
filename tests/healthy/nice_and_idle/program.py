"""The ranks run with the lowest priority, for the CPU and for the disk (nice, ionice)."""
import shutil

from workbench import Impossible, free_port


def make(bench):
    if not shutil.which("ionice"):
        raise Impossible("there is no ionice")


def command(bench):
    script = bench.program("os.nice(2)\nif RANK == 1: late()\n")
    return bench.torchrun("nice", "-n", "15", "ionice", "-c", "3", "python", script, options=["--no-python", f"--master_port={free_port()}"])
