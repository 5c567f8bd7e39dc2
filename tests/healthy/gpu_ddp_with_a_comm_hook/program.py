"""DDP's gradients go through a communication hook; its own first collective comes late, as rank 1 compiles."""
CUDA = True


def command(bench):
    return bench.on_gpus("""
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2).to(device), init_sync=False)
model.register_comm_hook(None, default_hooks.fp16_compress_hook)
if RANK == 1: work(10)
model(torch.ones(1, 2).to(device)).sum().backward()
torch.cuda.synchronize()
""")
