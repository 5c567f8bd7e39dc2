"""Rank 1 raises ValueError before init; the launcher's summary buries it."""
from workbench import DDP

EXPECTED = ["user-exception"]


def command(bench):
    return bench.torchrun(DDP, "--hang", "raise")
