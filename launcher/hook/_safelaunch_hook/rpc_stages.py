"""torch's RPC framework: init_rpc makes a world of its own, in C++, past init_process_group.

All ranks meet in it, up to a first call of each to each. So a rank that has left it is through, as behind a first
collective: a server of parameters waits for requests from then on, and may never call a collective.
"""
import os
import sys

from . import answers, channel, ending, groups, meeting
from .native import get_ident
from .patching import Call, quietly, replace, send_failure, wrapper

_OPERATION = "init_rpc"


def watch(c10d, in_init):
    rpc = sys.modules.get("torch.distributed.rpc")
    if hasattr(rpc, _OPERATION):
        replace(rpc.init_rpc, wrapper(rpc.init_rpc, _init_rpc(rpc.init_rpc, c10d, in_init)))


def _init_rpc(original, c10d, in_init):
    """Gives the prepare() of its wrapper."""

    def prepare(args, kwargs):
        used = Call(original, args, kwargs).arguments
        if not used.get("world_size"):  # ranks come and go as they like, or torch refuses it
            return args, kwargs, None, None
        if c10d.is_initialized():  # the world that is there meets once more
            return (args, kwargs) + groups.meet(None, {"group": _OPERATION, "init": False})
        quietly("init.enter", entered, used)
        in_init.add(get_ident())
        return args, kwargs, returned, failed

    def entered(used):
        options = used.get("rpc_backend_options")
        where = getattr(options, "init_method", None) or "env://"
        channel.forget_rank()
        channel.know_rank(rank=used.get("rank"), world=used.get("world_size"))
        channel.emit("init.enter", backend="tensorpipe", backend_used="tensorpipe", init_method=where,
                     timeout_s=getattr(options, "rpc_timeout", None), meets=meeting.place({"init_method": where}))
        answers.listen()
        ending.watch_child()

    def returned(_):
        in_init.discard(get_ident())
        channel.emit("group", backend="tensorpipe")
        channel.emit("coll.enter", op=_OPERATION)
        channel.emit("coll.done", op=_OPERATION, ms=0, observed=True)

    def failed(error):
        in_init.discard(get_ident())
        send_failure("init.failed", error)

    return prepare
