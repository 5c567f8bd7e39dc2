"""Trainers, a master and a server of parameters meet by RPC; the trainers make a world of their own, and the master works on for long."""
import sys

from workbench import free_port

CUDA = "RPC talks by TensorPipe"


def command(bench):
    return [sys.executable, bench.script(f"""
import time
import torch, torch.distributed as dist, torch.distributed.rpc as rpc, torch.multiprocessing as mp

PORTS = {[free_port() for _ in range(2)]}

def work(rank, world):
    options = rpc.TensorPipeRpcBackendOptions(init_method=f"tcp://127.0.0.1:{{PORTS[0]}}")
    rpc.init_rpc(f"worker{{rank}}", rank=rank, world_size=world, rpc_backend_options=options)
    if rank < 2:
        dist.init_process_group("gloo", rank=rank, world_size=2, init_method=f"tcp://127.0.0.1:{{PORTS[1]}}")
        for _ in range(3): dist.all_reduce(torch.ones(3))
    if rank == 2:
        end = time.monotonic() + 12
        while time.monotonic() < end: sum(range(10000))
        print(rpc.rpc_sync("worker3", torch.add, (torch.ones(1), 2)).item(), flush=True)
    rpc.shutdown()

if __name__ == "__main__":
    mp.spawn(work, (4,), nprocs=4)
""")]
