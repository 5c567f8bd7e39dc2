"""gdb holds rank 1 for some seconds, longer than a rank that only waits would be waited for."""
import shutil

from workbench import Impossible


def make(bench):
    if not shutil.which("gdb"):
        raise Impossible("there is no gdb")
    bench.operator("""
wait_for("waits")
subprocess.run(["gdb", "-q", "-batch", "-p", wait_for("pid1"), "-ex", "shell sleep 11"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
open("resumed", "w").close()
""")


def command(bench):
    return bench.train("""
note(f"pid{RANK}", os.getpid())
import torch
if RANK == 0: note("waits", "")
while RANK == 1 and not os.path.exists("resumed"): work(0.1)
""")
