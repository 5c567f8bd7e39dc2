"""Two worlds follow each other in one store of the program's own, and rank 1 is late for the second."""
from workbench import ON_GPUS, free_port

CUDA = True


def command(bench):
    return bench.on_gpus("""
for number in range(2):
    if number and RANK == 1: work(10)
    dist.init_process_group(BACKEND, store=dist.PrefixStore(str(number), store), rank=RANK, world_size=WORLD)
    total = ones()
    dist.all_reduce(total)
    say(f"rank {RANK}, world {number}: {int(total)}")
    dist.destroy_process_group()
""", begin=ON_GPUS + f"store = dist.TCPStore('127.0.0.1', {free_port()}, WORLD, RANK == 0)", end="")
