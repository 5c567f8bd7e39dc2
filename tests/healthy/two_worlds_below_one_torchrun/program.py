"""Four processes of one torchrun make two worlds of two, each with a port of its own; one rank is late."""
from workbench import free_port


def command(bench):
    return bench.train(f"""
import torch, torch.distributed as dist
if RANK == 3: late()
os.environ["MASTER_PORT"] = str(({free_port()}, {free_port()})[RANK // 2])
os.environ.pop("TORCHELASTIC_USE_AGENT_STORE", None)
note(f"waits{{RANK}}")
device = own_device()
dist.init_process_group(BACKEND, rank=RANK % 2, world_size=2)
total = torch.full((1,), RANK).to(device)
dist.all_reduce(total)
say(f"process {{RANK}}: {{int(total)}}")
dist.destroy_process_group()
""", end="", ranks=4)
