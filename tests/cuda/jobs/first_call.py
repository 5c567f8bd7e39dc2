"""A rank whose first call that meets the others is of the KIND that the environment names.

    KIND    one kind; or several with commas: one after the other, each in a new world, and a line for each
    FAULT   nothing | absent-before-init | absent-before-call | stopped-inside: what rank 1 does
    ONE_GPU the folder of one_gpu.py, where all ranks share one GPU

Each kind is a function of the rank, of a tensor of 8 numbers and of one of 16. It may leave the device at work.
"""

import os
import signal
import sys
import time

if "ONE_GPU" in os.environ:
    sys.path.append(os.environ["ONE_GPU"])
    import one_gpu  # noqa: F401  (before torch)
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

RANK = int(os.environ["RANK"])
DEVICE = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
FAULT = os.environ.get("FAULT", "")
KINDS = {}


def kind(function):
    KINDS[function.__name__] = function
    return function


def never_comes():
    time.sleep(3600)


def stop_inside():
    """The call is on its way on the device; its thread goes on, and then stands still with the whole process."""
    os.kill(os.getpid(), signal.SIGSTOP)


# What torch.distributed has itself.
@kind
def all_reduce(x, y):
    dist.all_reduce(x)


@kind
def asynchronous(x, y):
    dist.all_reduce(x, async_op=True).wait()


@kind
def never_waited_for(x, y):
    dist.all_reduce(x, async_op=True)


@kind
def thousand_steps_ahead(x, y):
    for _ in range(1000):
        dist.all_reduce(x)


@kind
def barrier(x, y):
    dist.barrier()


@kind
def barrier_with_ids(x, y):
    dist.barrier(device_ids=[DEVICE.index])


@kind
def barrier_in_a_subgroup(x, y):
    dist.barrier(dist.new_group([0, 1]))


@kind
def monitored_barrier(x, y):
    dist.monitored_barrier(dist.new_group(backend="gloo"))
    dist.all_reduce(x, group=dist.new_group())


@kind
def broadcast(x, y):
    dist.broadcast(x, 0)


@kind
def all_gather(x, y):
    dist.all_gather([y[:8], y[8:]], x)


@kind
def all_gather_into_tensor(x, y):
    dist.all_gather_into_tensor(y, x)


@kind
def gather(x, y):
    dist.gather(x, [y[:8], y[8:]] if RANK == 0 else None, dst=0)


@kind
def scatter(x, y):
    dist.scatter(x, [y[:8], y[8:]] if RANK == 0 else None, src=0)


@kind
def reduce(x, y):
    dist.reduce(x, 0)


@kind
def reduce_scatter(x, y):
    dist.reduce_scatter(x, [y[:8], y[8:]])


@kind
def reduce_scatter_tensor(x, y):
    dist.reduce_scatter_tensor(y[:4], x)


@kind
def all_to_all(x, y):
    dist.all_to_all([y[:4], y[4:8]], [x[:4], x[4:]])


@kind
def all_to_all_single(x, y):
    dist.all_to_all_single(y[:8], x)


@kind
def objects_gathered(x, y):
    dist.all_gather_object([None, None], {"rank": RANK})


@kind
def objects_broadcast(x, y):
    dist.broadcast_object_list([{"rank": RANK}], 0)


@kind
def send_and_receive(x, y):
    dist.send(x, 1) if RANK == 0 else dist.recv(x, 0)


@kind
def sent_at_once(x, y):
    (dist.isend(x, 1) if RANK == 0 else dist.irecv(x, 0)).wait()


@kind
def batch_of_sends(x, y):
    ways = [dist.P2POp(dist.isend, x, 1 - RANK), dist.P2POp(dist.irecv, y[:8], 1 - RANK)]
    for request in dist.batch_isend_irecv(ways):
        request.wait()


@kind
def coalesced(x, y):
    with dist._coalescing_manager():
        dist.all_reduce(x)
        dist.all_reduce(y)


@kind
def coalesced_on_the_device(x, y):
    with dist._coalescing_manager(device=DEVICE):
        dist.broadcast(x, 0)
        dist.broadcast(y, 0)


@kind
def followed_by_item(x, y):
    dist.all_reduce(x)
    x[0].item()


@kind
def on_a_stream_of_its_own(x, y):
    with torch.cuda.stream(torch.cuda.Stream()):
        dist.all_reduce(x)


@kind
def new_group(x, y):
    dist.all_reduce(x, group=dist.new_group([0, 1]))


@kind
def device_mesh(x, y):
    dist.all_reduce(x, group=init_device_mesh("cuda", (2,)).get_group())


@kind
def captured_in_a_graph(x, y):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        dist.all_reduce(x)
    graph.replay()
    torch.cuda.synchronize()  # what has captured a collective must be gone before its communicator (pytorch/pytorch#115388)


@kind
def in_a_hook_of_backward(x, y):
    x.requires_grad_().register_hook(lambda gradient: dist.all_reduce(gradient))
    (x * 2).sum().backward()


@kind
def functional(x, y):
    import torch.distributed._functional_collectives as functional_collectives

    functional_collectives.all_reduce(x, "sum", dist.group.WORLD).cpu()


@kind
def compiled(x, y):
    import torch.distributed._functional_collectives as functional_collectives

    torch.compile(lambda z: functional_collectives.all_reduce(z, "sum", dist.group.WORLD), backend="eager", fullgraph=True)(x).cpu()


# With the world given in another way.
@kind
def eager_all_reduce(x, y):
    dist.all_reduce(x)


@kind
def eager_barrier(x, y):
    dist.barrier()


@kind
def two_backends(x, y):
    dist.all_reduce(x)


# What stands on it.
@kind
def ddp(x, y):
    torch.nn.parallel.DistributedDataParallel(torch.nn.LayerNorm(8).to(DEVICE), device_ids=[DEVICE.index])


@kind
def ddp_static_graph(x, y):
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.LayerNorm(8).to(DEVICE), device_ids=[DEVICE.index], static_graph=True)
    model(x).sum().backward()


@kind
def ddps_backward(x, y):
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.LayerNorm(8).to(DEVICE), device_ids=[DEVICE.index], init_sync=False)
    model(x).sum().backward()


@kind
def fsdp2(x, y):
    from torch.distributed.fsdp import fully_shard

    model = torch.nn.LayerNorm(8).to(DEVICE)
    fully_shard(model, mesh=init_device_mesh("cuda", (2,)))
    model(x).sum().backward()


@kind
def dtensor(x, y):
    from torch.distributed.tensor import Shard, distribute_tensor

    distribute_tensor(x, init_device_mesh("cuda", (2,)), [Shard(0)]).full_tensor()


@kind
def tensor_parallel(x, y):
    from torch.distributed.tensor.parallel import RowwiseParallel, parallelize_module

    model = torch.nn.Linear(8, 8, device=DEVICE)
    parallelize_module(model, init_device_mesh("cuda", (2,)), RowwiseParallel())
    model(x[None, :4])


@kind
def pipeline_schedule(x, y):
    """Two stages over two ranks: the first call sends the shapes of what passes from stage to stage."""
    from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

    stage = PipelineStage(torch.nn.LayerNorm(8).to(DEVICE), RANK, 2, DEVICE)
    schedule = ScheduleGPipe(stage, n_microbatches=2, loss_fn=lambda output, target: (output - target).sum())
    schedule.step(x[None].repeat(4, 1)) if RANK == 0 else schedule.step(target=x[None].repeat(4, 1))


@kind
def deepspeeds_own(x, y):
    import deepspeed.comm

    deepspeed.comm.init_distributed(dist_backend="nccl", auto_mpi_discovery=False, verbose=False)
    deepspeed.comm.all_reduce(x)


@kind
def accelerates_gather(x, y):
    import accelerate

    accelerate.PartialState()
    accelerate.utils.gather(x)


def make_group(name, **more):
    if name == "deepspeeds_own":
        return
    if name.startswith("eager") or name == "captured_in_a_graph":  # a communicator cannot be made during a capture
        more["device_id"] = DEVICE
    dist.init_process_group("cpu:gloo,cuda:nccl" if name == "two_backends" else "nccl", **more)


def tensors():
    return torch.tensor([float(RANK + 1)] * 8).cuda(), torch.zeros(16).cuda()


def one_after_the_other(names):
    store, rank, world = next(dist.rendezvous("env://"))
    for name in names:
        make_group(name, store=dist.PrefixStore(name, store), rank=rank, world_size=world)
        try:
            KINDS[name](*tensors())
            torch.cuda.synchronize()
            print(f"passed {RANK} {name}", flush=True)
        except Exception as error:
            print(f"failed {RANK} {name}: {error!r}", flush=True)
        dist.destroy_process_group()


def busy_device():
    """Where no double keeps the call from ending, rank 1's device comes to it only after the process has been stopped."""
    if "ONE_GPU" in os.environ:
        torch.cuda._sleep(int(5e9))  # ticks of the device's clock: two seconds and more


def one(name):
    x, y = tensors()
    if RANK == 1 and FAULT == "absent-before-init":
        never_comes()
    make_group(name)
    if RANK == 1 and FAULT == "absent-before-call":
        never_comes()
    if RANK == 1 and FAULT == "stopped-inside":
        import threading

        busy_device()
        threading.Timer(0.5, stop_inside).start()
    KINDS[name](x, y)
    torch.cuda.synchronize()
    print(f"passed {RANK}", flush=True)
    dist.destroy_process_group()


def main():
    torch.cuda.set_device(DEVICE)
    names = os.environ["KIND"].split(",")
    one(names[0]) if len(names) == 1 else one_after_the_other(names)


if __name__ == "__main__":
    main()
