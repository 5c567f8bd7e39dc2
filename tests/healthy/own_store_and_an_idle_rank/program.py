"""Ranks 0 and 1 meet in a store of their own; rank 2 has nothing to do and ends well before."""
from workbench import free_port

CUDA = "it has a store and no backend"
QUICK = True


def command(bench):
    return bench.train(f"""
if RANK == 2: sys.exit()
import torch.distributed as dist
if RANK == 0: time.sleep(6)
store = dist.TCPStore("127.0.0.1", {free_port()}, None, RANK == 0)
store.set(f"here{{RANK}}", "yes")
store.wait(["here0", "here1"])
say(f"rank {{RANK}} met the other")
store.set(f"gone{{RANK}}", "yes")
if RANK == 0: store.wait(["gone0", "gone1"])
""", end="", ranks=3)
