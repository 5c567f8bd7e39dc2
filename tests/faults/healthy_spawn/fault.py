"""A healthy job whose workers are ours."""
from workbench import DDP

EXPECTED = None


def command(bench):
    return bench.spawn(DDP, "--steps", "5")
