"""Training for some seconds, and then a pause: FAULT says which. Two ranks share one GPU; after a healthy pause they go on."""

import os
import signal
import threading
import time

import one_gpu  # noqa: F401  (before torch)
import torch
import torch.distributed as dist

FAULT, RANK = os.environ["FAULT"], int(os.environ["RANK"])
TRAINS, PAUSE = float(os.environ.get("TRAINS", 8)), float(os.environ.get("PAUSE", 15))  # seconds
ENDLESS = 'extern "C" __global__ void endless(volatile float* there) { while (there[0] < 2) {} }'


def step(ones, group=None):
    dist.all_reduce(ones, group=group)
    ones.div_(dist.get_world_size(group)).sum().item()


def train(ones, seconds):
    """All ranks do as many steps: rank 0 says whether there is another."""
    end = time.monotonic() + seconds
    more = torch.ones(1, device="cuda")
    while more.item():
        step(ones)
        time.sleep(0.01)
        more.fill_(float(time.monotonic() < end))
        dist.broadcast(more, 0)


# What stands still.


def sleeps(ones):
    if RANK == 1:
        threading.Event().wait()
    step(ones)


def is_stopped(ones):
    if RANK == 1:
        os.kill(os.getpid(), signal.SIGSTOP)
    step(ones)


def calls_another(ones):
    if RANK == 1:
        dist.all_gather([torch.empty_like(ones) for _ in range(2)], ones)
        torch.cuda.synchronize()
    step(ones)


def receives_from_nobody(ones):
    if RANK == 0:
        dist.recv(ones, 1)
    step(ones)


def receive_in_a_circle(ones):
    dist.recv(ones, 1 - RANK)


def kernel_never_ends(ones):
    if RANK == 1:
        torch.cuda._compile_kernel(ENDLESS, "endless")((1, 1, 1), (1, 1, 1), (torch.zeros(1, device="cuda"),))
    step(ones)


def groups_cross(ones):
    groups = [dist.new_group([0, 1], use_local_synchronization=False) for _ in range(2)]
    for group in groups:
        step(ones, group)
    for group in groups if RANK == 0 else groups[::-1]:
        dist.all_reduce(ones, group=group)
        torch.cuda.synchronize()


# What does not.


def evaluates_alone(ones):
    if RANK == 0:
        end, matrix = time.monotonic() + PAUSE, torch.randn(2048, 2048, device="cuda")
        while time.monotonic() < end:
            (matrix @ matrix).relu_().sum().item()
    step(ones)


def waits_for_its_device_once(ones):
    if RANK == 0:
        torch.cuda._sleep(int(PAUSE * 1.7e9))
        torch.cuda.synchronize()
    step(ones)


def saves(ones):
    if RANK == 0:
        end, state = time.monotonic() + PAUSE, {"w": torch.ones(1 << 28, device="cuda")}
        while time.monotonic() < end:
            torch.save(state, "checkpoint.pt")
    step(ones)


def replays_a_graph(ones):
    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        dist.all_reduce(ones, op=dist.ReduceOp.AVG)
    began = time.monotonic()
    graph.replay()
    torch.cuda.synchronize()
    one = torch.tensor([time.monotonic() - began], device="cuda")
    dist.all_reduce(one, op=dist.ReduceOp.MAX)
    for _ in range(int(PAUSE / one.item())):
        graph.replay()
        torch.cuda.synchronize()
    del graph  # NCCL's communicator waits for it for ever (pytorch/pytorch#115388)


def compiles(ones):
    model = torch.compile(torch.nn.Sequential(*(torch.nn.Linear(64 + n, 65 + n) for n in range(24))).cuda())
    model(torch.ones(4, 64, device="cuda")).sum().backward()
    step(ones)


def leaves_one_open(ones):
    work = dist.all_reduce(torch.ones(1, device="cuda"), async_op=True) if RANK == 0 else None
    end = time.monotonic() + PAUSE
    while time.monotonic() < end:
        sum(range(10000))
    work = work or dist.all_reduce(torch.ones(1, device="cuda"), async_op=True)
    work.wait()


dist.init_process_group("nccl")
tensor = torch.ones(1 << 18, device="cuda")
train(tensor, TRAINS)
globals()[FAULT](tensor)
train(tensor, 1)
torch.cuda.synchronize()
print(f"passed {RANK}", flush=True)
dist.destroy_process_group()
