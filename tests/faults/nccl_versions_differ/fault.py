"""Rank 1 loads another version of NCCL."""
EXPECTED = ["nccl-mismatch", "nccl-two-libraries", "message-truncated", "rank-died", "duplicate-rank"]


def make(bench):
    bench.doubles()


def command(bench):
    wrapper = bench.script('#!/bin/sh\n[ "$RANK" = 1 ] && export SAFELAUNCH_DOUBLE_NCCL=2.30.7\nexec "$@"\n', "wrapper.sh")
    words = bench.nccl_worker()
    return [*words[:3], wrapper, *words[3:]]
