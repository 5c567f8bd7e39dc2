"""Four ranks have a mesh of two dimensions. The first collectives are those of the inner groups; rank 3 works before the outer ones."""
CUDA = True


def command(bench):
    return bench.on_gpus("""
from torch.distributed.device_mesh import init_device_mesh
mesh = init_device_mesh("cuda", (2, 2), mesh_dim_names=("data", "model"))
total = ones()
dist.all_reduce(total, group=mesh.get_group("model"))
if RANK == 3: work(11)
dist.all_reduce(total, group=mesh.get_group("data"))
say(f"rank {RANK}: {int(total)}")
""", ranks=4)
