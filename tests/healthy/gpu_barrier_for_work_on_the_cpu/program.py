"""One rank tokenises on its CPU, and the others wait in NCCL's barrier, which spins."""
CUDA = True


def command(bench):
    return bench.on_gpus("""
if RANK == 1: work(11)
dist.barrier(device_ids=[torch.cuda.current_device()])
""")
