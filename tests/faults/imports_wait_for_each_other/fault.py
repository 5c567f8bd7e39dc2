"""A module that rank 1 imports starts a thread that imports the same module, and waits for it."""
EXPECTED = ['rank-missing']
SAYS = ['[Rr]ank 1']


def command(bench):
    bench.script("import threading\ndef again():\n    import circle\n    circle.x\nthread = threading.Thread(target=again)\nthread.start()\nthread.join()\nx = 1\n", "circle.py")
    return bench.torchrun(bench.script("""
import os, torch, torch.distributed as dist
if os.environ["RANK"] == "1": import circle
dist.init_process_group("gloo")
"""))
