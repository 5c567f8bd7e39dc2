"""Both workers were given RANK=0."""
import sys

from workbench import DDP

EXPECTED = ["duplicate-rank"]


def command(bench):
    wrapper = bench.script('#!/bin/sh\nexport RANK=0\nexec "$@"\n', "wrapper.sh")
    return ["--nproc-per-node", "2", "--", wrapper, sys.executable, DDP]
