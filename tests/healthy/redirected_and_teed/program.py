"""torchrun keeps the ranks' output in files and shows it too (--redirects, --tee)."""


def command(bench):
    return bench.train("if RANK == 1: late()\n", options=["--log-dir", "logs", "--redirects", "3", "--tee", "3"])
