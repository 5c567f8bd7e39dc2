"""NCCL's first collective hangs over broken peer-to-peer copies between the GPUs."""
EXPECTED = ["gpu-p2p", "collective-stuck"]
HEALED_BY = "no-p2p"


def make(bench):
    bench.doubles("p2p-hang")


def command(bench):
    return bench.nccl_worker()
