"""/dev/shm has 1 MiB: NCCL's shared memory does not fit."""
EXPECTED = ["shm-small"]
HEALED_BY = "cumem-host"


def make(bench):
    bench.small_shm("1m")
    bench.doubles("shm-small")


def command(bench):
    return bench.nccl_worker()
