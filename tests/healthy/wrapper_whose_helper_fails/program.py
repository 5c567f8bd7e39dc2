"""Each rank is a shell script that first asks a Python whether a package is there; it is not, and all goes on."""
from workbench import free_port

QUICK = True


def command(bench):
    script = bench.program("if RANK == 1: late()\n")
    bench.shell(f"python -c 'import there_is_no_such_package' 2>/dev/null || sleep 3\nexec python {script}\n", "rank.sh")
    return bench.torchrun("bash", "rank.sh", options=["--no-python", f"--master_port={free_port()}"])
