"""Rank 1 never calls ncclCommInitRank; no line of NCCL says so."""
EXPECTED = ["rank-missing"]


def make(bench):
    bench.doubles(gpus=3)


def command(bench):
    return bench.nccl_worker("--absent-rank", "1", ranks=3)
