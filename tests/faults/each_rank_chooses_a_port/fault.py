"""Every spawned rank looks for a free port itself, and waits at a store of its own."""
import sys

EXPECTED = ['different-stores']
SAYS = ['[Rr]anks? 0', '127\\.0\\.0\\.1:\\d+']


def command(bench):
    return [sys.executable, bench.script("""
import os, socket, torch, torch.distributed as dist, torch.multiprocessing as mp
def train(rank):
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=2)
if __name__ == "__main__": mp.spawn(train, nprocs=2)
""")]
