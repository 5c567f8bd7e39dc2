"""Rank 1 ends with status 0 while rank 0 waits for it."""
EXPECTED = ["rank-left"]


def command(bench):
    return bench.torchrun(bench.script("import os, sys, torch.distributed as dist\n"
                                       "if os.environ['RANK'] == '1': sys.exit(0)\ndist.init_process_group('gloo')\n"))
