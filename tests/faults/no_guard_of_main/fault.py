"""The script spawns its ranks while they import it."""
import sys

EXPECTED = ['no-main-guard']


def command(bench):
    return [sys.executable, bench.script("import torch.multiprocessing as mp\ndef train(rank): pass\nmp.spawn(train, nprocs=2)\n")]
