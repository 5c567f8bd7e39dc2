"""deepspeed is given a hostfile without a host."""
from workbench import DDP, harness

EXPECTED = ["hostfile"]
NEEDS = ["deepspeed"]


def command(bench):
    return [str(harness.BIN / "deepspeed"), "--hostfile", bench.script("", "hosts"), DDP]
