"""A healthy job under torchrun."""
from workbench import DDP

EXPECTED = None


def command(bench):
    return bench.torchrun(DDP, "--steps", "5")
