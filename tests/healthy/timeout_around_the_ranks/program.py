"""Each rank runs below `timeout`, which gives it a process group of its own, and a shell pipes its output."""
from workbench import free_port


def command(bench):
    script = bench.program("if RANK == 1: late()\n")
    bench.shell(f"set -o pipefail\ntimeout 100 python {script} | tee -a log.$RANK\n", "rank.sh")
    return bench.torchrun("bash", "rank.sh", options=["--no-python", f"--master_port={free_port()}"])
