"""A module that rank 1 imports starts a thread that imports the same module, and waits for it."""
EXPECTED = ['rank-missing']
SAYS = ['[Rr]ank 1']


def command(bench):
    bench.script("""
import threading
def again():
    import circle
    circle.x
thread = threading.Thread(target=again)
thread.start()
thread.join()
x = 1
""", "circle.py")
    return bench.torchrun(bench.script("""
import os, torch, torch.distributed as dist
if os.environ["RANK"] == "1": import circle
dist.init_process_group("gloo")
"""))
