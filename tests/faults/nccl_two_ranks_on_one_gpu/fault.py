"""Both ranks were given GPU 0."""
EXPECTED = ["duplicate-gpu", "device-ordinal"]


def make(bench):
    bench.doubles(gpus=1)


def command(bench):
    wrapper = bench.script('#!/bin/sh\nexport LOCAL_RANK=0\nexec "$@"\n', "wrapper.sh")
    words = bench.nccl_worker()
    return [*words[:3], wrapper, *words[3:]]
