"""NCCL cannot bind NVLink SHARP's multicast memory."""
EXPECTED = ["nvls-bind"]
HEALED_BY = "no-nvls"


def make(bench):
    bench.doubles("nvls", version="2.29.7")


def command(bench):
    return bench.nccl_worker()
