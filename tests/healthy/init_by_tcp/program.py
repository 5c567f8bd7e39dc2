"""The ranks meet at tcp://, on a port of the script's own; rank 0, which serves it, is late."""
from workbench import free_port


def command(bench):
    return bench.train(f"""
os.environ.pop("TORCHELASTIC_USE_AGENT_STORE", None)
if RANK == 0: late()
import torch, torch.distributed as dist
note(f"waits{{RANK}}")
device = own_device()
dist.init_process_group(BACKEND, init_method="tcp://127.0.0.1:{free_port()}", rank=RANK, world_size=WORLD)
total = torch.ones(1).to(device)
dist.all_reduce(total)
say(f"rank {{RANK}}: {{int(total)}}")
dist.destroy_process_group()
""", end="")
