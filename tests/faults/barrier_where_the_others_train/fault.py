"""A rank that finds the cache skips the barrier and goes on to DDP's broadcast."""
EXPECTED = ['ranks-disagree']
SAYS = ['barrier', 'job\\.py:\\d+']


def command(bench):
    return bench.torchrun(bench.job("""
if RANK == 0: dist.barrier()
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 4))
model(torch.ones(2, 4)).sum().backward()
"""))
