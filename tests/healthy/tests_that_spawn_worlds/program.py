"""pytest runs tests that spawn worlds one after the other; one expects a rank to fail after its first collective."""
import sys

from workbench import free_port

CUDA = "it asks for gloo"
NEEDS = ["pytest"]


def command(bench):
    bench.script(f"""
import os, pytest, torch, torch.distributed as dist, torch.multiprocessing as mp
PORTS = {[free_port() for _ in range(3)]}

def rank_of(rank, port, fails):
    os.environ.update(RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo")
    dist.all_reduce(torch.ones(1))
    dist.barrier()
    if fails and rank == 1: raise ValueError("as the test wants it")
    dist.destroy_process_group()

def test_one(): mp.spawn(rank_of, (PORTS[0], False), 2)

def test_failure():
    with pytest.raises(mp.ProcessRaisedException, match="as the test wants it"): mp.spawn(rank_of, (PORTS[1], True), 2)

def test_another(): mp.spawn(rank_of, (PORTS[2], False), 2)
""", "test_worlds.py")
    return [sys.executable, "-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider", "--tb=no", "--no-summary", "-rN", "-qq", "test_worlds.py"]
