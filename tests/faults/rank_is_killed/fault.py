"""Somebody kills rank 1 (SIGKILL); the kernel's memory is not short."""
from workbench import DDP

EXPECTED = ["rank-died"]


def command(bench):
    return bench.torchrun(DDP, "--hang", "kill")
