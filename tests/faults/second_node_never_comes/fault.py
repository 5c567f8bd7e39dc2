"""torchrun is told of two nodes, and the second one's never starts."""
from workbench import free_port

EXPECTED = ['nodes-missing']
SAYS = ['node 1']


def command(bench):
    return bench.torchrun(bench.job(""), options=["--nnodes=2", "--node_rank=0", "--master_addr=127.0.0.1", f"--master_port={free_port()}"])
