"""Rank 1 raises after the first all_reduce; rank 0, in the next one, reports a lost peer."""
EXPECTED = ["user-exception"]


def command(bench):
    return bench.torchrun(bench.job("dist.all_reduce(torch.ones(1))\nif RANK == 1: raise KeyError('label')\n"
                                    "dist.all_reduce(torch.ones(1))\n"))
