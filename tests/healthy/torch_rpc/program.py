"""torch's RPC, with rank 0 late."""

CUDA = "RPC talks by TensorPipe"


def command(bench):
    return bench.train("""
if RANK == 0: late()
import torch, torch.distributed.rpc as rpc
note(f"waits{RANK}")
rpc.init_rpc(f"worker{RANK}", rank=RANK, world_size=WORLD)
say(f"rank {RANK}: {rpc.rpc_sync(f'worker{1 - RANK}', torch.add, (torch.ones(1), RANK)).item()}")
rpc.shutdown()
""", end="")
