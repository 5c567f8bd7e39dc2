"""The script asks for NCCL, and this torch was built without it."""
from workbench import DDP

EXPECTED = ["nccl-not-built", "no-gpu"]


def command(bench):
    return bench.torchrun(DDP, "--backend", "nccl")
