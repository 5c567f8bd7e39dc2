"""The stages of torch on the way to a process group: the functions wrapped, and the events sent.

The wrappers stay for the life of the process; they cost microseconds, and groups are made seldom.
"""
import os
import sys
import time

from . import answers, calls, channel, collective, completion, counters, ending, gloo, groups, meeting, native, nccl_log, rpc_stages, timeouts, verify
from .patching import Call, like, quietly, replace, send_failure, stand_before, wrapper

_in_init = set()  # the threads that are in init_process_group
_splits = {}  # the name of a group → how many have been split off it, which is the same on all of its ranks
_alone = []  # whether the world that this process is in meets nobody


def watch(torch):
    """Puts the wrappers in place once torch is imported, one by one, since an unknown torch may lack some."""
    channel.emit("imported", lib="torch", version=str(torch.__version__))
    c10d = sys.modules.get("torch.distributed.distributed_c10d")
    if c10d is None:
        return  # a build without torch.distributed
    quietly("init_process_group", _watch_init, torch, c10d)
    quietly("_new_process_group_helper", _watch_groups, c10d)
    quietly("TCPStore", _watch_stores)
    quietly("init_rpc", rpc_stages.watch, c10d, _in_init)
    quietly("multiprocessing", _watch_children)


def _watch_init(torch, c10d):
    stand_before(c10d.init_process_group, _init_process_group(torch, c10d))


def _watch_groups(c10d):
    replace(c10d._new_process_group_helper, _new_group(c10d, c10d._new_process_group_helper))
    if hasattr(c10d, "split_group"):
        stand_before(c10d.split_group, _split_group(c10d))


def _watch_stores():
    store = sys.modules["torch._C._distributed_c10d"].TCPStore
    store.__init__ = like(store.__init__, _store(store.__init__))


def _init_process_group(torch, c10d):
    """Gives the prepare() of its wrapper."""
    original = c10d.init_process_group

    def entered(asked, used):
        rank, world = used.get("rank", -1), used.get("world_size", -1)
        channel.forget_rank()  # of another world
        channel.know_rank(rank=rank if rank >= 0 else None, world=world if world > 0 else None)
        channel.emit(
            "init.enter", backend=_text(asked), backend_used=_text(used.get("backend")),
            init_method=used.get("init_method"), timeout_s=_seconds(used.get("timeout")), meets=meeting.place(used),
            **_init_file(used.get("init_method"))
        )

    def watch_closely():
        quietly("first collective", collective.watch, torch)
        quietly("answers", answers.listen)
        quietly("counters", counters.start)
        quietly("end of a child", ending.watch_child)

    def has_group():
        channel.know_rank(rank=c10d.get_rank(), world=c10d.get_world_size())
        channel.emit("group", backend=str(c10d.get_backend()))
        verify.all_reduce_if_asked(torch, c10d)

    def prepare(args, kwargs):
        if c10d.is_initialized():  # torch says no, and the group that is there stays
            return args, kwargs, None, None
        call = Call(original, args, kwargs)
        _alone[:] = [True] if meeting.is_alone(call.arguments) else []
        if _alone:
            return args, kwargs, None, None
        asked = call.arguments.get("backend")
        quietly("gloo", gloo.take_over, torch, c10d)
        call.change(gloo.rewrite)
        call.change(timeouts.rewrite)
        quietly("former world", completion.leave_world)
        quietly("NCCL's log", nccl_log.do_without_where_it_cannot_be_written)
        quietly("init.enter", entered, asked, call.arguments)
        watch_closely()
        _in_init.add(native.get_ident())
        return call.args, call.kwargs, returned, failed

    def returned(_):
        _in_init.discard(native.get_ident())
        quietly("group", has_group)

    def failed(error):
        _in_init.discard(native.get_ident())
        send_failure("init.failed", error)

    return prepare


def _init_file(init_method):
    """The file in which the ranks are to meet, as it is before this rank writes into it."""
    if not str(init_method).startswith("file://"):
        return {}
    path = init_method[len("file://"):].partition("?")[0]
    try:
        found = os.stat(path)
        return {"file": path, "file_bytes": found.st_size, "file_age_s": max(0, int(time.time() - found.st_mtime))}
    except OSError:
        return {"file": path, "file_bytes": 0}


def _new_group(c10d, original):
    def prepare(args, kwargs):
        if _alone:
            return args, kwargs, None, None
        call = Call(original, args, kwargs)
        call.change(gloo.rewrite)
        call.change(timeouts.rewrite)
        about = {"group": str(call.arguments.get("group_name", "")), "init": native.get_ident() in _in_init}
        members = None if _splits_the_world(c10d, call.arguments) else call.arguments.get("global_ranks_in_group")
        return (call.args, call.kwargs) + groups.meet(_members(members), about)

    return wrapper(original, prepare)


def _split_group(c10d):
    """Gives the prepare() of its wrapper. All ranks of the parent call it, whichever part they come to."""
    original = c10d.split_group

    def prepare(args, kwargs):
        try:
            parent = Call(original, args, kwargs).arguments.get("parent_pg") or c10d._get_default_group()
            name, ranks = c10d._world.pg_names[parent], sorted(c10d._world.pg_group_ranks[parent])
        except Exception:  # torch refuses it, and says why
            return args, kwargs, None, None
        _splits[name] = _splits.get(name, 0) + 1
        return (args, kwargs) + groups.meet(_members(ranks), {"group": "split %d of %s" % (_splits[name], name), "init": False})

    return prepare


def _splits_the_world(c10d, arguments):
    """Whether NCCL splits the group off the world's communicator, for which all ranks of the world meet."""
    try:
        return arguments.get("backend") != "gloo" and c10d.is_initialized() and bool(c10d._get_default_group().bound_device_id)
    except AttributeError:  # a torch that binds no device
        return False


def _members(ranks):
    """The global ranks of a group that is being made; None where they are all, or too many to tell."""
    return [int(rank) for rank in ranks] if ranks and len(ranks) <= calls.MOST_MEMBERS else None


def _store(original):
    """pybind's constructor has no signature to ask; the order of its arguments has never changed."""

    def signature(host_name, port, world_size=None, is_master=False, timeout=None, *rest, **more):
        pass

    def prepare(args, kwargs):
        call = Call(signature, args[1:], kwargs)
        call.change(timeouts.rewrite)
        where = {
            "host": _text(call.arguments.get("host_name")), "port": call.arguments.get("port"),
            "master": bool(call.arguments.get("is_master")), "init": native.get_ident() in _in_init,
        }
        channel.emit("store.enter", **where)

        def returned(_):
            channel.emit("store.exit", **where)

        def failed(error):
            send_failure("store.failed", error, **where)

        return args[:1] + call.args, call.kwargs, returned, failed

    return wrapper(original, prepare)


def _watch_children():
    """Reports a child's exception, because multiprocessing catches it: torch's spawn hands it to the
    parent, the plain one prints it. Either way it never comes to sys.excepthook."""
    spawn = sys.modules.get("torch.multiprocessing.spawn")
    if spawn is not None:
        def prepare(args, kwargs):
            return (_reporting(args[0]),) + args[1:], kwargs, None, None

        replace(spawn._wrap, wrapper(spawn._wrap, prepare))
    process = sys.modules.get("multiprocessing.process")
    if process is not None:
        process.BaseProcess.run = _reporting(process.BaseProcess.run)


def _reporting(function):
    def failed(error):
        if isinstance(error, Exception):
            ending.report(error)

    return wrapper(function, lambda args, kwargs: (args, kwargs, None, failed))


def _text(value):
    return None if value is None else str(value)


def _seconds(timeout):
    return None if timeout is None else timeout.total_seconds()
