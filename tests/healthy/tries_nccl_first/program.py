"""The script tries NCCL, catches the error, and goes on with gloo; rank 1 works in between."""
CUDA = "there NCCL is to be had"


def command(bench):
    return bench.train("""
import torch.distributed as dist
try:
    dist.init_process_group("nccl")
    say("nccl?")
except Exception as error:
    say(f"rank {RANK}: {type(error).__name__}, gloo then")
if RANK == 1: late()
""")
