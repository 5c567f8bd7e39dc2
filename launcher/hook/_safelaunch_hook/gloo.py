"""SAFELAUNCH_BACKEND=gloo: the job runs on gloo wherever it asks for NCCL, without a changed line.

gloo is slow, but right; where it would not be, the job is refused with an exception, since a job that
trains wrongly is worse than one that stops.
"""
import os
import sys

from . import channel, ending
from .patching import wrapper

_NCCL = ("nccl", "nccl2", "nccl-legacy")  # from torch 2.14 on there are two of them


class Refused(RuntimeError):
    """The one exception that the hook raises into the program on purpose."""


def is_wanted():
    return os.environ.get("SAFELAUNCH_BACKEND") == "gloo"


def backend(asked):
    """The backend to use for one that was asked for: "cpu:gloo,cuda:nccl" becomes
    "cpu:gloo,cuda:gloo"."""
    if asked is None or not is_wanted():
        return asked
    parts = str(asked).lower().split(",")
    if not any(_name(part) in _NCCL for part in parts):
        return asked
    return ",".join(
        part[: len(part) - len(_name(part))] + "gloo" if _name(part) in _NCCL else part
        for part in parts
    )


def rewrite(arguments):
    """Changes the arguments of init_process_group, or of one group, to gloo's. The device and the
    options are NCCL's: torch checks them against the build before it looks at the backend."""
    if not is_wanted():
        return
    if "backend" in arguments:
        arguments["backend"] = backend(arguments["backend"])
    for name in ("device_id", "pg_options", "backend_options"):
        arguments.pop(name, None)


def take_over(torch, c10d):
    """Call this before the first group is made."""
    if not is_wanted():
        return
    devices = getattr(c10d.Backend, "default_device_backend_map", {})  # for backend=None
    for device, name in list(devices.items()):
        devices[device] = backend(name)
    _refuse_what_corrupts(torch, c10d)
    ending.before_exit(_destroy_groups)


def _name(part):
    return part.strip().rpartition(":")[2]


def _destroy_groups():
    """Destroys the group at the end: gloo's threads outlive the interpreter, and without this a rank
    aborts now and then after it has succeeded. After an exception nothing is destroyed, since that
    would wait for peers that never come."""
    c10d = sys.modules["torch.distributed.distributed_c10d"]
    if c10d.is_initialized() and not ending.failed():
        c10d.destroy_process_group()


def _refuse_what_corrupts(torch, c10d):
    """Wraps the methods of ProcessGroup through which all of Python goes."""
    for name in ("send", "recv", "recv_anysource"):
        _guard(c10d.ProcessGroup, name, _needs_the_cpu)
    if _version(torch) < (2, 8):
        for name in ("_reduce_scatter_base", "reduce_scatter_tensor_coalesced"):
            _guard(c10d.ProcessGroup, name, _needs_a_sum)


def _version(torch):
    return tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])


def _guard(kind, name, reason_against):
    original = getattr(kind, name, None)
    if original is None or hasattr(original, "_safelaunch"):
        return

    def prepare(args, kwargs):
        why = reason_against(args[1:], kwargs)
        if why:
            channel.emit("refused", what=name, why=why)
            raise Refused("safelaunch: %s on the gloo backend is refused, because %s" % (name, why))
        return args, kwargs, None, None

    guarded = wrapper(original, prepare)
    guarded._safelaunch = True
    setattr(kind, name, guarded)


def _needs_the_cpu(args, kwargs):
    """Refuses tensors of a device, which pipeline parallelism sends: gloo hands the tensor's address to
    the socket as it is."""
    for tensor in kwargs.get("tensors", args[0] if args else ()):
        if tensor.device.type != "cpu":
            return (
                "gloo cannot send or receive tensors on %s (pipeline parallelism needs it); use a "
                "profile with NCCL" % tensor.device.type
            )
    return None


def _needs_a_sum(args, kwargs):
    """Refuses reductions that gloo cannot do, which mostly FSDP2 asks for."""
    options = kwargs.get("opts", args[2] if len(args) > 2 else None)
    operation = getattr(options, "reduceOp", None)
    if operation is None or operation == sys.modules["torch.distributed"].ReduceOp.SUM:
        return None
    return (
        "gloo before torch 2.8 gives the sum for every other operation, so that FSDP2 would train with "
        "gradients too large by the world size; use torch 2.8 or a profile with NCCL"
    )
