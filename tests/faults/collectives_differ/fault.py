"""Rank 0 calls all_reduce where rank 1 calls barrier, under TORCH_DISTRIBUTED_DEBUG=DETAIL."""
EXPECTED = ["ranks-disagree"]


def command(bench):
    bench.env["TORCH_DISTRIBUTED_DEBUG"] = "DETAIL"
    return bench.torchrun(bench.job("dist.all_reduce(torch.ones(1)) if RANK == 0 else dist.all_gather([torch.ones(1)] * 2, torch.ones(1))\n"))
