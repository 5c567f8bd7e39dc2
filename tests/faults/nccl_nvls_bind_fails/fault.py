"""NCCL cannot bind NVLink SHARP's multicast memory."""
EXPECTED = ["nvls-bind"]
HEALED_BY = "no-nvls"


def make(bench):
    bench.doubles("nvls")


def command(bench):
    return bench.nccl_worker()
