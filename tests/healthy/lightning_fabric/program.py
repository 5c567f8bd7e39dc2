"""Lightning Fabric: the script starts its second rank by itself, with LOCAL_RANK and no RANK."""
import sys

NEEDS = ["lightning_fabric"]


def command(bench):
    return [sys.executable, bench.program("""
if os.environ.get("LOCAL_RANK") == "1": late()
import logging, torch
logging.getLogger("lightning").setLevel(logging.ERROR)
from lightning_fabric import Fabric
note("waits")
fabric = Fabric(accelerator="cpu" if BACKEND == "gloo" else "cuda", devices=2, strategy="ddp")
fabric.launch()
model = fabric.setup(torch.nn.Linear(2, 2))
fabric.backward(model(torch.ones(1, 2).to(fabric.device)).sum())
say(f"rank {fabric.global_rank} of {fabric.world_size}: {int(fabric.all_reduce(torch.ones(1).to(fabric.device), reduce_op='sum'))}")
""", end="")]
