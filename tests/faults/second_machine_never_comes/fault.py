"""accelerate is told of two machines, and only this one is there."""
from workbench import free_port

EXPECTED = ['nodes-missing', 'rank-missing', 'rank-not-started']
NEEDS = ["accelerate"]


def command(bench):
    script = bench.script("from accelerate import Accelerator\nAccelerator(cpu=True)\n")
    return ["accelerate", "launch", "--cpu", "--num_machines", "2", "--num_processes", "2", "--machine_rank", "0", "--main_process_ip",
            "127.0.0.1", "--main_process_port", str(free_port()), script]
