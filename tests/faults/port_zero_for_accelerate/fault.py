"""--main_process_port 0: every worker would look for the others on port 0."""
import sys

from workbench import DDP

EXPECTED = None  # a concrete port is chosen before the launch
NEEDS = ["accelerate"]


def command(bench):
    bench.env["ACCELERATE_USE_CPU"] = "true"
    return [sys.executable, "-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2", "--main_process_port", "0", DDP, "--steps", "5"]
