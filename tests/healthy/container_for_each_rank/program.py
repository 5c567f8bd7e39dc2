"""Each rank has pids and a /proc of its own, as in a container."""
import subprocess

from workbench import Impossible, free_port

NEW = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]


def make(bench):
    if subprocess.run([*NEW, "true"], stderr=subprocess.DEVNULL).returncode != 0:
        raise Impossible("no pid namespace can be made here")


def command(bench):
    script = bench.program("if RANK == 1: late()\n")
    return bench.torchrun(*NEW, "python", script, options=["--no-python", f"--master_port={free_port()}"])
