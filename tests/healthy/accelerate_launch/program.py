"""accelerate launch starts the ranks; rank 1 works before it comes."""
import sys

import workbench
from workbench import free_port

NEEDS = ["accelerate"]


def command(bench):
    if not workbench.CUDA:
        bench.env["ACCELERATE_USE_CPU"] = "true"
    return [sys.executable, "-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2", "--main_process_port", str(free_port()),
            bench.program("if RANK == 1: late()\n")]
