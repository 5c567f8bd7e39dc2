"""py-spy samples rank 1, which works, while rank 0 waits in init."""
import shutil

from workbench import Impossible


def make(bench):
    if not shutil.which("py-spy", path=bench.env["PATH"]):
        raise Impossible("there is no py-spy")
    bench.operator("""
wait_for("waits")
subprocess.run(["py-spy", "record", "-d", "9", "-r", "100", "-o", "profile.svg", "-p", wait_for("pid1")],
               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
open("resumed", "w").close()
""")


def command(bench):
    return bench.train("""
note(f"pid{RANK}", os.getpid())
import torch
if RANK == 0: note("waits", "")
while RANK == 1 and not os.path.exists("resumed"): work(0.1)
""")
