"""safelaunch starts the ranks itself, as torchrun would."""
import sys

from workbench import DDP, free_port

OPTIONS = ["--nproc-per-node", "2"]


def bare(bench):
    return bench.torchrun(DDP, "--steps", "5", options=[f"--master_port={free_port()}"])


def command(bench):
    return [sys.executable, DDP, "--steps", "5"]
