"""Both ranks were given a WORLD_SIZE of three."""
import sys

from workbench import DDP

EXPECTED = ['rank-not-started', 'rank-missing']
SAYS = ['[Rr]ank 2']


def command(bench):
    wrapper = bench.script('#!/bin/sh\nexport WORLD_SIZE=3\nexec "$@"\n', "wrapper.sh")
    return ["--nproc-per-node", "2", "--", wrapper, sys.executable, DDP]
