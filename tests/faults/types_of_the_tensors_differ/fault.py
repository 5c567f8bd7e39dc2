"""The first all_reduce has floats on rank 0 and doubles on rank 1."""
EXPECTED = ['ranks-disagree']


def command(bench):
    return bench.torchrun(bench.job("""
dist.all_reduce(torch.ones(100000, dtype=torch.float64 if RANK else torch.float32))
dist.barrier()
"""))
