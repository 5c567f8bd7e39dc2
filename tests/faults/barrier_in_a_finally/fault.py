"""Rank 1 raises, and its finally waits in a barrier: the traceback never comes out."""
EXPECTED = ['user-exception']
SAYS = ['[Rr]ank 1', 'KeyError', 'job\\.py:\\d+']


def command(bench):
    return bench.torchrun(bench.job("""
def load(): return {} if RANK else {'labels': 1}
try:
    dist.all_reduce(torch.ones(1) * load()['labels'])
finally:
    dist.barrier()
"""))
