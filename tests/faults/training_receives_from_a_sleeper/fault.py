"""Rank 0 receives from rank 1, which sleeps: nobody is in a collective."""
EXPECTED = ["training-stalled"]
SAYS = ['[Rr]ank 0 is in job\\.py:\\d+', '[Rr]ank 1 is in job\\.py:\\d+ sleeps']


def command(bench):
    return bench.stands_still("""
if RANK == 1: sleeps()
dist.recv(torch.ones(4), 1)
""")
