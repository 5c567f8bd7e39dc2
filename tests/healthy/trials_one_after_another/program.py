"""A search runs one training after the other; in the second a rank is late."""
import sys

from workbench import free_port


def command(bench):
    bench.program("if RANK == 1 and sys.argv[1] == '1': late()\n")
    return [sys.executable, bench.script(f"""
import subprocess, sys
for trial, port in enumerate({[free_port(), free_port()]}):
    subprocess.run([sys.executable, "-m", "torch.distributed.run", "--nproc_per_node=2", f"--master_port={{port}}", "job.py", str(trial)], check=True)
""", "search.py")]
