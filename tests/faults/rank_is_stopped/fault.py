"""Rank 1 is stopped (SIGSTOP) before init_process_group."""
from workbench import DDP

EXPECTED = ["rank-stopped"]


def command(bench):
    return bench.torchrun(DDP, "--hang", "stop-before-init")
