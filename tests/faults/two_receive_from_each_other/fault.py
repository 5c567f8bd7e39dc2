"""Two ranks receive from each other, and neither sends."""
EXPECTED = ['messages-in-a-circle']
SAYS = ['0.*1', 'recv']


def command(bench):
    return bench.torchrun(bench.job("""
def exchange():
    dist.recv(torch.zeros(4), 1 - RANK)
    dist.send(torch.ones(4), 1 - RANK)
exchange()
"""))
