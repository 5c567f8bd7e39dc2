"""The ranks give up root before they train."""
import os

from workbench import Impossible


def make(bench):
    if os.getuid() != 0:
        raise Impossible("only root can become another user")
    bench.record.chmod(0o755)
    bench.folder.chmod(0o777)


def command(bench):
    return bench.train("""
import torch
os.setgroups([])
os.setresgid(65534, 65534, 65534)
os.setresuid(65534, 65534, 65534)
if RANK == 1: late()
""")
