"""torchrun starts three, and two of them make the world; the third logs, and ends."""
from workbench import free_port


def command(bench):
    return bench.train(f"""
import torch, torch.distributed as dist
store = dist.TCPStore("127.0.0.1", {free_port()}, 3, RANK == 2)
if RANK == 2:
    store.wait(["done0", "done1"])
    say("logged")
else:
    if RANK == 1: late()
    note(f"waits{{RANK}}")
    device = own_device()
    dist.init_process_group(BACKEND, store=dist.PrefixStore("a", store), rank=RANK, world_size=2)
    total = torch.ones(1).to(device)
    dist.all_reduce(total)
    say(f"rank {{RANK}}: {{int(total)}}")
    dist.destroy_process_group()
    store.set(f"done{{RANK}}", "yes")
""", end="", ranks=3)
