"""Rank 1 sleeps for ever and never calls init_process_group."""
from workbench import DDP

EXPECTED = ["rank-missing"]


def command(bench):
    return bench.torchrun(DDP, "--hang", "never-init")
