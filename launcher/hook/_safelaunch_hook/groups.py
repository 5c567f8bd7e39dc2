"""The making of a group, and its ranks, in the numbers of the launcher's world.

A script may make a group with processes from outside of that world, as verl and OpenRLHF do for the weights of their
engines: over a store of its own, by torch's inner functions. Its numbers are then the group's own, and of its members we
know ourselves alone.
"""
import sys

from . import channel
from .patching import send_failure

_C10D = "torch.distributed.distributed_c10d"


def meet(members, about):
    """Tells that ranks begin to meet for a group. Returns what to call when it is made, and when it fails."""
    channel.emit("pg.enter", members=members, **about)

    def returned(_):
        channel.emit("pg.exit", **about)

    def failed(error):
        send_failure("pg.failed", error, **about)

    return returned, failed


def members(group):
    """Sorted; this rank alone where the others may be of no world that we know."""
    c10d = sys.modules[_C10D]
    ranks = sorted(c10d.get_process_group_ranks(group))
    world = getattr(c10d, "_world", None)  # torch 1 has none
    default = getattr(world, "default_pg", None)
    return ranks if default is None or _is_of_the_world(world, default, group, ranks) else [c10d.get_rank()]


def _is_of_the_world(world, default, group, ranks):
    if ranks and ranks[-1] >= default.size():
        return False
    stores = world.pg_map
    if group is default or group not in stores or default not in stores:
        return True
    return _address(stores[group][1]) == _address(stores[default][1])


def _address(store):
    """Where a store of torch's is; None for one of another kind."""
    for _ in range(8):  # prefixes
        store = getattr(store, "underlying_store", store)
    return (store.host, store.port) if type(store).__name__ == "TCPStore" else None
