"""A rank of `safelaunch test`: meets the others over one backend, reduces, and writes down each step.

    python trial_worker.py survey             prints what this Python has, as JSON
    python trial_worker.py BACKEND gpu|cpu FOLDER
                                              one rank; its steps go to FOLDER/rank-N, one JSON object a line

A line is written when a step is done, so the step that is missing is the one that failed or hangs.
"""

import contextlib
import importlib.metadata
import importlib.util
import json
import os
import platform
import sys
import time

PACKAGES = ("torch", "deepspeed", "accelerate", "jax")
ELEMENTS = 1 << 18  # 1 MiB of floats: enough for a transport to move more than a first packet


def version_of(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "?"  # a checkout on PYTHONPATH


def survey():
    found = {name: version_of(name) for name in PACKAGES if importlib.util.find_spec(name)}
    print(json.dumps({"python": platform.python_version(), "packages": found}))


class Steps:
    """The steps of this rank, in its file."""

    def __init__(self, folder):
        self.rank = int(os.environ["RANK"])
        self.ranks = int(os.environ["WORLD_SIZE"])
        self.local_rank = int(os.environ["LOCAL_RANK"])
        self.attempt = int(os.environ.get("SAFELAUNCH_ATTEMPT", 1))
        self.file = open(os.path.join(folder, f"rank-{self.rank}"), "a")

    def write(self, step, **more):
        self.file.write(json.dumps({"attempt": self.attempt, "step": step, **more}) + "\n")
        self.file.flush()

    @contextlib.contextmanager
    def step(self, name):
        """Writes down that the step was done, or the error that ended it."""
        began = time.monotonic()
        note = {}
        try:
            yield note
        except BaseException as error:
            self.write(name, trouble=f"{type(error).__name__}: {error}")
            raise
        self.write(name, seconds=round(time.monotonic() - began, 3), **note)

    def check(self, sums):
        """Each rank has given its number plus one."""
        expected = self.ranks * (self.ranks + 1) / 2
        if any(one != expected for one in sums):
            raise ArithmeticError(f"all_reduce gave {sums[0]} in place of {expected}: the transport loses or changes data")


def device_for(steps, backend):
    """The device of this rank, used once."""
    import torch

    if backend != "nccl":
        device = torch.device("cpu")
    elif torch.version.cuda is None:
        raise RuntimeError(f"torch {torch.__version__} was built without CUDA, so it cannot use the GPUs that are here")
    else:
        device = torch.device("cuda", steps.local_rank)
        torch.cuda.set_device(device)
    return torch.full((ELEMENTS,), float(steps.rank + 1)).to(device)


def name_of(values):
    import torch

    return torch.cuda.get_device_name(values.device) if values.is_cuda else "cpu"


def reduce_with(communication, steps, values):
    with steps.step("all_reduce"):
        communication.all_reduce(values)
        steps.check([values[0].item(), values[-1].item()])
    communication.destroy_process_group()


def run_torch(steps, backend):
    with steps.step("import"):
        import torch.distributed
    with steps.step("device") as note:
        values = device_for(steps, backend)
        note["device"] = name_of(values)
    with steps.step("group") as note:
        torch.distributed.init_process_group(backend)
        note["backend"] = torch.distributed.get_backend()
    reduce_with(torch.distributed, steps, values)


def run_deepspeed(steps):
    with steps.step("import"):
        import deepspeed.comm
        import torch
    backend = "nccl" if torch.cuda.is_available() else "gloo"
    with steps.step("device") as note:
        values = device_for(steps, backend)
        note["device"] = name_of(values)
    with steps.step("group") as note:
        deepspeed.init_distributed(dist_backend=backend, auto_mpi_discovery=False, verbose=False)
        note["backend"] = torch.distributed.get_backend()
    reduce_with(deepspeed.comm, steps, values)


def run_jax(steps, place):
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # it would take most of a GPU that others use
    with steps.step("import"):
        import jax
        import jax.numpy

        if "JAX_PLATFORMS" not in os.environ and place == "cpu":
            jax.config.update("jax_platforms", "cpu")
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
    with steps.step("group"):
        jax.distributed.initialize(coordinator_address=f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}",
                                   num_processes=steps.ranks, process_id=steps.rank,
                                   local_device_ids=[steps.local_rank] if place == "gpu" else None)
    with steps.step("device") as note:
        note["device"] = jax.local_devices()[0].device_kind
    with steps.step("all_reduce"):
        mesh = jax.sharding.Mesh(jax.devices(), ("ranks",))
        split = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("ranks"))
        whole = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
        own = [jax.device_put(jax.numpy.full((1,), float(steps.rank + 1)), device) for device in jax.local_devices()]
        values = jax.make_array_from_single_device_arrays((jax.device_count(),), split, own)
        total = jax.jit(jax.numpy.sum, out_shardings=whole)(values)
        steps.check([float(total) / jax.local_device_count()])
    jax.distributed.shutdown()


def run_rank(backend, place, folder):
    """`place` is where the driver lets ranks run: JAX would look for device files, which WSL does not have."""
    steps = Steps(folder)
    if backend == "jax":
        run_jax(steps, place)
    elif backend == "deepspeed":
        run_deepspeed(steps)
    else:
        run_torch(steps, backend)


if __name__ == "__main__":
    if sys.argv[1] == "survey":
        survey()
    else:
        run_rank(*sys.argv[1:])
