"""The world gets its communicator in init (device_id), and a group is split off it. Rank ABSENT never comes to that, but stays.

KIND: new_group (of ranks 0 and 1), split_group, device_mesh, deepspeed (whose own init binds the device).
"""

import os
import sys
import time

import torch
import torch.distributed as dist

RANK, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
DEVICE = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
torch.cuda.set_device(DEVICE)


def never_comes():
    time.sleep(3600)


def come():
    if os.environ.get("ABSENT") == str(RANK):
        never_comes()


def init():
    dist.init_process_group("nccl", device_id=DEVICE)
    come()


def new_group():
    init()
    dist.new_group([0, 1])


def split_group():
    init()
    dist.split_group(split_ranks=[list(range(WORLD))])


def device_mesh():
    init()
    dist.device_mesh.init_device_mesh("cuda", (1, WORLD), mesh_dim_names=("data", "tensor"))


def deepspeed():
    sys.argv[1:] = []
    import deepspeed

    deepspeed.init_distributed("nccl", auto_mpi_discovery=False, verbose=False)
    come()
    model = torch.nn.LayerNorm(8)
    config = {"train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": 1}, "zero_allow_untested_optimizer": True}
    deepspeed.initialize(model=model, optimizer=torch.optim.SGD(model.parameters(), lr=0.1), config=config)


globals()[os.environ["KIND"]]()
dist.barrier()
print("made", flush=True)
dist.destroy_process_group()
