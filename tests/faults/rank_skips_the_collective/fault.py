"""Rank 1 takes another branch, and waits in a lock while the others are in their first all_reduce."""
from workbench import DDP

EXPECTED = ["rank-missing"]


def command(bench):
    return bench.torchrun(DDP, "--hang", "skip-collective")
