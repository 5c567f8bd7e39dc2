"""MASTER_ADDR is a name that nobody knows."""
import sys

from workbench import DDP

EXPECTED = ["name-resolution"]


def command(bench):
    wrapper = bench.script('#!/bin/sh\nexport MASTER_ADDR=node-that-is-not.invalid\nexec "$@"\n', "wrapper.sh")
    return ["--nproc-per-node", "2", "--", wrapper, sys.executable, DDP]
