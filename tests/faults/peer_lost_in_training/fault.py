"""Rank 1 is killed in the middle of the training; rank 0 reports its connection reset."""
EXPECTED = ["rank-died"]


def command(bench):
    return bench.torchrun(bench.job("import signal\nfor step in range(20):\n    dist.all_reduce(torch.ones(1))\n"
                                    "    if RANK == 1 and step == 10: os.kill(os.getpid(), signal.SIGKILL)\n"))
