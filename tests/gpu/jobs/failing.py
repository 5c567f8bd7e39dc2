"""What really goes wrong on a GPU: FAULT says what. Two ranks share one GPU."""

import os
import signal
import threading

import one_gpu  # noqa: F401  (before torch)
import torch
import torch.distributed as dist

FAULT, RANK = os.environ["FAULT"], int(os.environ["RANK"])


def all_memory_but(left):
    """In the device's own allocations; the caching allocator rounds."""
    free, _ = torch.cuda.mem_get_info()
    return torch.empty(max(0, free - left), dtype=torch.uint8, device="cuda")


def train(steps):
    ones = torch.ones(1 << 20, device="cuda")
    for step in range(steps):
        dist.all_reduce(ones)
        torch.cuda.synchronize()
        print(f"rank {RANK} step {step}", flush=True)
    return ones


def more_than_there_is():
    dist.init_process_group("nccl")
    train(1)
    torch.empty(1 << 42, dtype=torch.uint8, device="cuda")


def none_left_for_nccl():
    torch.cuda.init()
    dist.init_process_group("cpu:gloo,cuda:nccl")
    dist.barrier(group=dist.new_group(backend="gloo"))
    taken = all_memory_but(64 << 20) if RANK == 0 else None
    dist.barrier(group=dist.new_group(backend="gloo"))
    train(1)
    del taken


def index_out_of_range():
    dist.init_process_group("nccl")
    train(1)
    embedding = torch.nn.Embedding(10, 4).cuda()
    embedding(torch.tensor([100 if RANK == 1 else 1], device="cuda")).sum().backward()
    train(1)


def no_such_device():
    torch.cuda.set_device(RANK)
    dist.init_process_group("nccl")
    train(1)


def illegal_address():
    dist.init_process_group("nccl")
    train(1)
    if RANK == 1:
        source = 'extern "C" __global__ void astray(float* there) { there[1l << 40] = 1; }'
        torch.cuda._compile_kernel(source, "astray")((1, 1, 1), (1, 1, 1), (torch.ones(1, device="cuda"),))
    train(1)


def calls_differ():
    dist.init_process_group("nccl")
    mine = torch.ones(4, device="cuda")
    if RANK == 0:
        dist.all_reduce(mine)
    else:
        dist.all_gather([torch.empty(4, device="cuda") for _ in range(2)], mine)
    torch.cuda.synchronize()


def does_not_come_to_step_three():
    dist.init_process_group("nccl")
    train(3)
    if RANK == 1:
        threading.Event().wait()
    train(1)


def killed_in_training():
    dist.init_process_group("nccl")
    train(3)
    if RANK == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    train(1)


def holds_memory():
    """Not a rank: it keeps the GPU's memory, as somebody else's job does."""
    taken = all_memory_but(3 << 30)
    print("held", flush=True)
    threading.Event().wait()
    del taken


def wants_more_than_is_left():
    dist.init_process_group("nccl")
    train(1)
    torch.empty(8 << 30, dtype=torch.uint8, device="cuda")


globals()[FAULT]()
