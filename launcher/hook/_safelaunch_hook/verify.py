"""SAFELAUNCH_VERIFY=inject: an all_reduce of our own, as soon as the group stands.

It shows a communication failure before the program spends half an hour on its data. But a rank without
the hook would take our number for its own gradients' sum. So rank 0 alone decides, once every rank has
said in the store that it has the hook, and no two of them use one GPU.
"""
import os
import socket
from datetime import timedelta

from . import channel

_PATIENCE = timedelta(seconds=60)  # for ranks that have no hook; a late rank gets the decision later


def all_reduce_if_asked(torch, c10d):
    if os.environ.get("SAFELAUNCH_VERIFY") != "inject" or c10d.get_world_size() < 2:
        return
    device = "cuda" if "nccl" in _backends(c10d) else "cpu"
    if _agreed(c10d, _where(torch, device)):
        number = torch.ones(1, device=device)
        c10d.all_reduce(number)
        total = int(number.item())
        if total != c10d.get_world_size():
            raise RuntimeError("the sum of %d ones is %d" % (c10d.get_world_size(), total))


def _backends(c10d):
    """ "nccl", "cpu:gloo,cuda:nccl", …; torch before 2.1 has one backend for all devices."""
    return c10d.get_backend_config() if hasattr(c10d, "get_backend_config") else str(c10d.get_backend())


def _where(torch, device):
    """The device that this rank would use; unique where it must be."""
    if device == "cpu":
        return "cpu of %s %d" % (socket.gethostname(), os.getpid())
    properties = torch.cuda.get_device_properties(torch.cuda.current_device())
    return "%s %s" % (device, getattr(properties, "uuid", torch.cuda.current_device()))


def _agreed(c10d, where):
    store, rank, world = c10d._get_default_store(), c10d.get_rank(), c10d.get_world_size()
    store.set("safelaunch/%d" % rank, where)
    if rank == 0:
        store.set("safelaunch/verify", "yes" if _all_apart(store, world) else "no")
    return store.get("safelaunch/verify") == b"yes"


def _all_apart(store, world):
    keys = ["safelaunch/%d" % rank for rank in range(world)]
    try:
        store.wait(keys, _PATIENCE)
    except Exception as error:
        channel.fault("verify", error)
        return False
    return len({store.get(key) for key in keys}) == world
