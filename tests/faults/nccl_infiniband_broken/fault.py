"""NCCL's InfiniBand queue pairs cannot be made."""
EXPECTED = ["ib-peer", "ib-memlock"]
HEALED_BY = "no-ib"


def make(bench):
    bench.doubles("ib")


def command(bench):
    return bench.nccl_worker()
