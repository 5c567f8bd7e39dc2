"""--master_port stands behind the script, which does not know it."""
from workbench import DDP

EXPECTED = ["bad-arguments"]


def command(bench):
    return bench.torchrun(DDP, "--master_port", "29501")
