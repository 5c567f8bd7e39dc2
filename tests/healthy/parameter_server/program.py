"""A parameter server of reinforcement learning: rank 0 serves in a store of its own, ranks 1 and 2 train in a world of two."""
from workbench import free_port


def command(bench):
    return bench.train(f"""
import torch, torch.distributed as dist
store = dist.TCPStore("127.0.0.1", {free_port()}, 3, RANK == 0)
if RANK == 0:
    for update in range(2):
        work(5)
        store.set(f"update{{update}}", "weights")
    store.wait(["done0", "done1"])
    say("served")
else:
    device = own_device()
    dist.init_process_group(BACKEND, store=dist.PrefixStore("trainers", store), rank=RANK - 1, world_size=2)
    if RANK == 1: store.get("update1")
    total = torch.ones(1).to(device)
    dist.all_reduce(total)
    dist.destroy_process_group()
    say(f"trainer {{RANK - 1}}: {{int(total)}}")
    store.set(f"done{{RANK - 1}}", "")
    if RANK == 1: store.get("done1")
    if RANK == 2: store.get("done0")
""", end="", ranks=3)
