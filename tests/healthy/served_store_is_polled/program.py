"""Rank 0 serves a store and works; the others ask it now and then whether the data is there."""
from workbench import free_port


def command(bench):
    return bench.train(f"""
import torch.distributed as dist
store = dist.TCPStore("127.0.0.1", {free_port()}, None, RANK == 0, wait_for_workers=False)
if RANK == 0:
    work(10)
    store.set("ready", "yes")
else:
    while not store.check(["ready"]): time.sleep(0.5)
""", ranks=3)
