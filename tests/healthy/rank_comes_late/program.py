"""Rank 1 works before it comes to init."""
CUDA = "it prints a loss, and the doubles multiply no matrices"
from workbench import DDP, free_port

QUICK = True


def command(bench):
    return bench.torchrun(DDP, "--hang", "slow", "--seconds", "10", "--steps", "5", options=[f"--master_port={free_port()}"])
