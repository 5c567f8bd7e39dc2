"""Rank 1 works for a few seconds before it comes: no hang at all."""
from workbench import DDP

EXPECTED = None


def command(bench):
    return bench.torchrun(DDP, "--hang", "slow", "--seconds", "4", "--steps", "5")
