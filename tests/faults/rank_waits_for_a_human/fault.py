"""Rank 0 asks a question on the terminal, and nobody answers."""
EXPECTED = ["waiting-for-human"]


def command(bench):
    return bench.torchrun(bench.script("import os, sys, time, torch.distributed as dist\nif os.environ['RANK'] == '0':\n"
                                       "    print('wandb: Enter your choice: ', end='', flush=True)\n    time.sleep(3600)\n"
                                       "dist.init_process_group('gloo')\n"))
