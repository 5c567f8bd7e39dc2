"""The first collectives carry objects; rank 0 computes what it broadcasts."""


def command(bench):
    return bench.train("""
import torch.distributed as dist
device = own_device()
dist.init_process_group(BACKEND)
if RANK == 0: work(10)
given = [{"seed": 7} if RANK == 0 else None]
dist.broadcast_object_list(given)
gathered = [None] * WORLD
dist.all_gather_object(gathered, (RANK, given[0]["seed"]))
say(str(gathered))
dist.destroy_process_group()
""", end="")
