"""A small training under torchrun."""
from workbench import DDP, free_port


def command(bench):
    return bench.torchrun(DDP, "--steps", "5", options=[f"--master_port={free_port()}"])
