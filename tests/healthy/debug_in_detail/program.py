"""TORCH_DISTRIBUTED_DEBUG=DETAIL, a group of all ranks, and rank 1 is late."""
CUDA = "its tensors are on the CPU"


def command(bench):
    bench.env["TORCH_DISTRIBUTED_DEBUG"] = "DETAIL"
    return bench.train("""
if RANK == 1: late()
import torch, torch.distributed as dist
note(f"waits{RANK}")
dist.init_process_group("gloo")
total = torch.ones(1)
dist.all_reduce(total, group=dist.new_group([0, 1]))
dist.all_reduce(total)
say(f"rank {RANK}: {int(total)}")
dist.barrier()
dist.destroy_process_group()
""", end="")
