"""A ring of three ranks in which each receives before it sends."""
EXPECTED = ['messages-in-a-circle']
SAYS = ['[Rr]anks? 0.*1.*2', 'job\\.py:\\d+', 'recv']


def command(bench):
    return bench.torchrun(bench.job("""
dist.recv(torch.zeros(4), (RANK - 1) % 3)
dist.send(torch.ones(4), (RANK + 1) % 3)
"""), ranks=3)
