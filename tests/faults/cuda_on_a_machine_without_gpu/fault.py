"""The script moves its model to CUDA, and there is no GPU."""
EXPECTED = ["no-gpu", "nccl-not-built"]


def command(bench):
    return bench.torchrun(bench.job("torch.ones(1).cuda()\n"))
