"""Whom a call of torch.distributed waits for: its group, its other end, and whether the caller stands in it."""
import sys

from . import groups

MOST_MEMBERS = 4096  # of a group, told in one packet
# The other end of a message, and the one rank that a broadcast, a gather, … comes from or goes to.
_PEERS = ("src", "dst", "root_rank")
_FUNCTIONS_THAT_WAIT = ("send", "recv")  # isend and irecv make the same calls, and go on


def about(name, named, group, in_group):
    """The fields of `coll.enter`. `named` are the call's arguments by name; `in_group`: ranks among them are the
    group's own numbers, and not the world's."""
    fields = {"op": name, "blocks": _blocks(name, named)}
    c10d = sys.modules["torch.distributed.distributed_c10d"]
    group = group or c10d._get_default_group()
    ranks = c10d.get_process_group_ranks(group)
    fields["group"] = str(c10d._get_process_group_name(group))
    members = groups.members(group)
    if len(members) < c10d.get_world_size() and len(members) <= MOST_MEMBERS:
        fields["members"] = members
    peer = next((named[key] for key in _PEERS if named.get(key) is not None), None)
    if peer is not None and peer >= 0:
        fields["peer"] = int(ranks[peer] if in_group else peer)
    if named.get("tag") and _is_on_the_cpu(named):
        fields["tag"] = int(named["tag"])
    return fields


def _is_on_the_cpu(named):
    """Whether gloo or MPI carries the message: both ends must give them one tag, and devices' libraries have none."""
    tensors = named.get("tensors") or [named.get("tensor")]
    return tensors[0].device.type == "cpu"


def _blocks(name, named):
    """Whether the caller goes on only when the call is finished."""
    if name.rstrip("_") in ("send", "recv", "recv_any_source"):
        return any(function in _FUNCTIONS_THAT_WAIT for function in _functions_of_torch())
    return named.get("async_op") is False


def _functions_of_torch():
    """The functions of torch's that lead to this call: recv calls irecv."""
    frame = sys._getframe()
    while frame is not None:
        if frame.f_code.co_filename.endswith("torch/distributed/distributed_c10d.py"):
            yield frame.f_code.co_name
        frame = frame.f_back
