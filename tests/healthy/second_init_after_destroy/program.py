"""A world to try the backend, then the real one at another port, for which rank 1 is late."""
from workbench import free_port


def command(bench):
    return bench.train(f"""
import torch.distributed as dist
device = own_device()
dist.init_process_group(BACKEND)
say(str(dist.get_world_size()))
dist.barrier()
dist.destroy_process_group()
os.environ["MASTER_PORT"] = "{free_port()}"
os.environ.pop("TORCHELASTIC_USE_AGENT_STORE", None)
if RANK == 1: late()
""")
