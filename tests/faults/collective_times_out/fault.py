"""Rank 1 leaves the training loop early; rank 0's all_reduce runs into the group's timeout."""
EXPECTED = ["training-stalled"]
SAYS = ["[Rr]ank 1 is behind", "job\\.py:5 in <module>"]
OPTIONS = ["--collective-timeout", "60s"]


def command(bench):
    return bench.torchrun(bench.script(
        "import datetime, os, time, torch, torch.distributed as dist\n"
        "dist.init_process_group('gloo', timeout=datetime.timedelta(seconds=5))\n"
        "for step in range(20):\n    dist.all_reduce(torch.ones(1))\n    if dist.get_rank() == 1 and step == 10: time.sleep(3600)\n"))
