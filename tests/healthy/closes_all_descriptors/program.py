"""A rank closes all descriptors that are not its own, as daemons do; then it works."""


def command(bench):
    return bench.train("""
import torch
os.closerange(3, 4096)
if RANK == 1: late()
""")
