"""deepspeed is told to use CUDA, and there is no GPU."""
import sys

from workbench import DDP, harness

EXPECTED = ["no-gpu"]
NEEDS = ["deepspeed"]


def command(bench):
    bench.env["DS_ACCELERATOR"] = "cuda"
    return [str(harness.BIN / "deepspeed"), "--num_gpus", "2", DDP]
