"""Rank 1 is stopped inside its first all_reduce."""
from workbench import DDP

EXPECTED = ["rank-stopped"]


def command(bench):
    return bench.torchrun(DDP, "--hang", "stop-in-collective")
