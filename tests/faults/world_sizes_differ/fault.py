"""Rank 1 was given another WORLD_SIZE."""
import sys

from workbench import DDP

EXPECTED = ["world-size-mismatch"]


def command(bench):
    wrapper = bench.script('#!/bin/sh\n[ "$RANK" = 1 ] && export WORLD_SIZE=3\nexec "$@"\n', "wrapper.sh")
    return ["--nproc-per-node", "2", "--", wrapper, sys.executable, DDP]
