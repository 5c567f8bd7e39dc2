"""The ranks give themselves other names (prctl, setproctitle), and were started under another (exec -a)."""
import os
import sys

from workbench import free_port

NEEDS = ["setproctitle"]


def command(bench):
    bench.env["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if "site-packages" in path)  # under another name Python does not find its own
    script = bench.program("""
import ctypes, setproctitle
setproctitle.setproctitle(f"trainer: epoch {RANK}")
ctypes.CDLL(None).prctl(15, b") R 1 (", 0, 0, 0)
if RANK == 1: late()
""")
    bench.shell(f"exec -a 'our own (name)' python {script}\n", "rank.sh")
    return bench.torchrun("bash", "rank.sh", options=["--no-python", f"--master_port={free_port()}"])
