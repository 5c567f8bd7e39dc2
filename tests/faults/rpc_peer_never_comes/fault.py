"""Rank 1 stands before init_rpc, which makes its group in C++, past init_process_group."""
EXPECTED = ["rank-missing"]
SAYS = ["[Rr]ank 1", "job\\.py:\\d+ (in )?never_reaches_rpc"]


def command(bench):
    return bench.torchrun(bench.script("""
import os, time
import torch.distributed.rpc as rpc
def never_reaches_rpc(): time.sleep(3600)
if os.environ["RANK"] == "1": never_reaches_rpc()
rpc.init_rpc("worker0", rank=0, world_size=2)
"""))
