"""A rank forks by os.fork after the meeting; parent and child both end well."""


def command(bench):
    return bench.train("""
import torch, torch.distributed as dist
device = own_device()
dist.init_process_group(BACKEND)
dist.barrier()
child = os.fork()
if child == 0:
    say(f"child of {RANK}")
    os._exit(0)
os.waitpid(child, 0)
dist.barrier()
say(f"rank {RANK}")
dist.destroy_process_group()
""", end="")
