"""DeepSpeed's launcher starts the ranks on CPUs; rank 1 works before it comes."""
import sys

from workbench import free_port

CUDA = "it is DeepSpeed on CPUs"
NEEDS = ["deepspeed"]
LINES = "^rank "


def command(bench):
    return [sys.executable, "-m", "deepspeed.launcher.runner", "--num_gpus", "2", "--master_port", str(free_port()),
            bench.program("sys.argv.clear()\nif RANK == 1: late()\n")]
