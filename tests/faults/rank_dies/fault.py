"""Rank 1 ends with status 3 and no word of why, before init_process_group."""
from workbench import DDP

EXPECTED = ["rank-died"]


def command(bench):
    return bench.torchrun(DDP, "--hang", "die")
