"""The ranks meet at a file, not at a port; rank 0 is late."""


def command(bench):
    return bench.train("""
if RANK == 0: late()
import torch, torch.distributed as dist
note(f"waits{RANK}")
device = own_device()
dist.init_process_group(BACKEND, init_method=f"file://{os.getcwd()}/meeting", rank=RANK, world_size=WORLD)
total = torch.ones(1).to(device)
dist.all_reduce(total)
say(f"rank {RANK}: {int(total)}")
dist.destroy_process_group()
""", end="")
