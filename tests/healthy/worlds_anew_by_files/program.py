"""The world is destroyed and made anew eight times at files; the ranks rotate, and twice one is late."""
CUDA = "its worlds begin at files, with tensors on the CPU"


def command(bench):
    return bench.train("""
import torch, torch.distributed as dist
note(f"waits{RANK}")
for i in range(8):
    if (i, RANK) in ((2, 1), (5, 0)): work(10)
    dist.init_process_group(BACKEND, init_method=f"file://{HERE}/meet{i}", rank=(RANK + i) % 2, world_size=2)
    total = torch.ones(1)
    if i % 3: dist.all_reduce(total)
    if i % 2 or not i % 3: dist.barrier()  # a world that is left at once breaks in gloo, if the other still connects
    dist.destroy_process_group()
say(f"rank {RANK}")
""", end="")
