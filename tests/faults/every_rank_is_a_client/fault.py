"""Under torchrun every rank is a client of the store, also of one that the script names, so that nobody opens it."""

EXPECTED = ["store-not-opened"]
SAYS = ["Nobody listens at 127\\.0\\.0\\.1:23555"]


def command(bench):
    return bench.torchrun(bench.script("""
import os, torch, torch.distributed as dist
rank = int(os.environ["RANK"])
dist.init_process_group("gloo", init_method="tcp://127.0.0.1:23555", rank=rank, world_size=2)
dist.all_reduce(torch.ones(1))
"""))
