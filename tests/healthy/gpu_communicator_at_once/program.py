"""With device_id NCCL's communicator is made in init itself, where rank 0 waits for rank 1."""
from workbench import ON_GPUS

CUDA = True


def command(bench):
    return bench.on_gpus("""
dist.init_process_group(BACKEND, device_id=torch.device("cuda", torch.cuda.current_device()))
if RANK == 0: work(10)
""", before="if RANK == 1: late()\n", begin=ON_GPUS)
