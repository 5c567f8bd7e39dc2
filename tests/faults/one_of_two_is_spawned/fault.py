"""mp.spawn starts one process; the world is said to have two."""
import sys

from workbench import free_port

EXPECTED = ['rank-not-started']
SAYS = ['[Rr]ank 1']


def command(bench):
    return [sys.executable, bench.script(f"""
import os, torch.distributed as dist, torch.multiprocessing as mp
def train(rank):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="{free_port()}")
    dist.init_process_group("gloo", rank=rank, world_size=2)
if __name__ == "__main__": mp.spawn(train)
""")]
