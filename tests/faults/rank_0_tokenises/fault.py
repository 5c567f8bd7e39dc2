"""Rank 0 works on its data for longer than anybody waits."""
EXPECTED = ["rank-busy"]


def command(bench):
    return bench.torchrun(bench.script("import os, torch.distributed as dist\ndef tokenise():\n    while True: sum(range(100000))\n"
                                       "if os.environ['RANK'] == '0': tokenise()\ndist.init_process_group('gloo')\n"))
