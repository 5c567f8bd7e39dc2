"""Which collectives of CUDA tensors gloo does in NCCL's place, on two ranks. Prints a line of JSON for each, on rank 0.

A collective is a function that gives what came and what should have come, both as tensors.
"""

import json

import torch
import torch.distributed as dist

COLLECTIVES = []
REFUSED = {"coalesced": "unsupported device type cuda", "all_to_all": "gloo does not support alltoall"}  # what torch's gloo cannot do, and says so; that is right too
torch.cuda.set_device(0)
dist.init_process_group("nccl")
RANK, WORLD = dist.get_rank(), dist.get_world_size()


def collective(function):
    COLLECTIVES.append(function)
    return function


def mine(count=4, rank=RANK, dtype=torch.float32):
    """A rank's numbers: 1, 2, 3 ... times 10 to the power of the rank."""
    return torch.tensor([float((index + 1) * 10**rank) for index in range(count)], dtype=dtype)


def everybodys(count=4, dtype=torch.float32):
    return [mine(count, rank, dtype) for rank in range(WORLD)]


def chunk_of_sum(count=4):
    return sum(everybodys(count)).chunk(WORLD)[RANK]


def exchanged():
    return torch.cat([theirs.chunk(WORLD)[RANK] for theirs in everybodys()])


@collective
def all_reduce():
    tensor = mine().cuda()
    dist.all_reduce(tensor)
    return tensor, sum(everybodys())


@collective
def all_reduce_bf16():
    tensor = mine(dtype=torch.bfloat16).cuda()
    dist.all_reduce(tensor)
    return tensor, sum(everybodys(dtype=torch.bfloat16))


@collective
def all_reduce_average():
    tensor = mine().cuda()
    dist.all_reduce(tensor, op=dist.ReduceOp.AVG)
    return tensor, sum(everybodys()) / WORLD


@collective
def broadcast():
    tensor = mine().cuda()
    dist.broadcast(tensor, 1)
    return tensor, mine(rank=1)


@collective
def all_gather():
    parts = [torch.zeros(4).cuda() for _ in range(WORLD)]
    dist.all_gather(parts, mine().cuda())
    return torch.cat([part.cpu() for part in parts]), torch.cat(everybodys())


@collective
def all_gather_into_tensor():
    whole = torch.zeros(4 * WORLD).cuda()
    dist.all_gather_into_tensor(whole, mine().cuda())
    return whole, torch.cat(everybodys())


@collective
def reduce_scatter():
    part = torch.zeros(4 // WORLD).cuda()
    dist.reduce_scatter(part, [chunk.cuda() for chunk in mine().chunk(WORLD)])
    return part, chunk_of_sum()


@collective
def reduce_scatter_tensor():
    part = torch.zeros(4 // WORLD).cuda()
    dist.reduce_scatter_tensor(part, mine().cuda())
    return part, chunk_of_sum()


@collective
def reduce_scatter_average():
    part = torch.zeros(4 // WORLD).cuda()
    dist.reduce_scatter_tensor(part, mine().cuda(), op=dist.ReduceOp.AVG)
    return part, chunk_of_sum() / WORLD


@collective
def all_to_all():
    parts = [torch.zeros(4 // WORLD).cuda() for _ in range(WORLD)]
    dist.all_to_all(parts, [chunk.cuda() for chunk in mine().chunk(WORLD)])
    return torch.cat([part.cpu() for part in parts]), exchanged()


@collective
def all_to_all_single():
    whole = torch.zeros(4).cuda()
    dist.all_to_all_single(whole, mine().cuda())
    return whole, exchanged()


@collective
def coalesced():
    first, second = mine().cuda(), mine(8).cuda()
    with dist._coalescing_manager():
        dist.all_reduce(first)
        dist.all_reduce(second)
    return torch.cat([first.cpu(), second.cpu()]), torch.cat([sum(everybodys()), sum(everybodys(8))])


def outcome(function):
    try:
        came, expected = function()
    except Exception as error:
        known = REFUSED.get(function.__name__)
        return {"ok": bool(known and known in str(error)), "why": f"it does not train: {type(error).__name__}: {error}"}
    came = came.cpu()
    return {"ok": torch.equal(came, expected), "why": "" if torch.equal(came, expected) else f"{came.tolist()}, not {expected.tolist()}"}


for function in COLLECTIVES:
    said = outcome(function)
    if RANK == 0:
        print(json.dumps({"collective": function.__name__, "backend": dist.get_backend(), **said}), flush=True)
dist.destroy_process_group()
