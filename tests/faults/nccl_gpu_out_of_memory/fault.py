"""The GPU has no memory left for NCCL's buffers."""
EXPECTED = ["gpu-oom-in-nccl", "gpu-oom", "gpu-held"]
HEALED_BY = None


def make(bench):
    bench.doubles("oom")


def command(bench):
    return bench.nccl_worker()
