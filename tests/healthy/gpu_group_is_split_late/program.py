"""The world is split (split_group) after its first collectives, and rank 1 works before the new group's first one."""
from workbench import ON_GPUS

CUDA = True


def command(bench):
    return bench.on_gpus("""
dist.init_process_group(BACKEND, device_id=torch.device("cuda", torch.cuda.current_device()))
dist.all_reduce(ones())
work(6)
group = dist.split_group(split_ranks=[[0, 1]])
if RANK == 1: work(10)
total = ones()
dist.all_reduce(total, group=group)
say(f"rank {RANK}: {int(total)}")
""", begin=ON_GPUS)
