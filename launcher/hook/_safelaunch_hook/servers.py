"""Servers of models: that one answers requests, what ends a process of SGLang's, and the communicators that vLLM and
SGLang make past torch.

Both have a class PyNcclCommunicator, which calls NCCL by itself: its ranks meet in ncclCommInitRank, and once more in an
all_reduce to warm up. That is a group like torch's, which is being made until the constructor returns.
"""
import functools
import sys

from . import channel, ending, groups, native
from .patching import Call, quietly, wrapper

COMMUNICATORS = tuple(package + ".distributed.device_communicators.pynccl" for package in ("vllm", "sglang.srt"))
MEET = ("ncclCommInitRank", "ncclCommInitRankConfig")

_groups = {}  # thread → the group for which its constructor makes a communicator
_ends = {}  # thread → what to call when that is made, and when it fails
_asked = set()  # of these threads, those that were there at a question before
_made = {}  # the name of a group → how many were made for it, the same number on all of its ranks


def watch_uvicorn():
    def prepare(args, kwargs):
        channel.emit("serves")
        return args, kwargs, None, None

    server = sys.modules["uvicorn.server"].Server
    server.main_loop = wrapper(server.main_loop, prepare)  # begins once the server listens
    server.startup = _told_where_it_cannot_listen(server.startup)


def _told_where_it_cannot_listen(startup):
    """uvicorn shuts the application down then, which may take for ever (SGLang's waits for its ranks), and exits with 1."""
    async def told(server, *args, **kwargs):
        quietly("serve.exit", _watch_shutdown, server)
        try:
            return await startup(server, *args, **kwargs)
        finally:
            quietly("serve.exit", _watch_shutdown_no_more, server)

    return functools.wraps(startup)(told)


def _watch_shutdown(server):
    def prepare(args, kwargs):
        channel.emit("serve.exit", status=1)
        return args, kwargs, None, None

    server.lifespan.shutdown = wrapper(server.lifespan.shutdown, prepare)


def _watch_shutdown_no_more(server):
    del server.lifespan.shutdown


def watch_sglang(name):
    """Its processes catch whatever is raised in them, and have the first process kill them all."""
    module = sys.modules[name]
    if hasattr(module, "get_exception_traceback"):
        module.get_exception_traceback = wrapper(module.get_exception_traceback, _ends_by_exception)


def watch_communicators(name):
    module = sys.modules[name]
    communicator, library = module.PyNcclCommunicator, module.NCCLLibrary
    communicator.__init__ = wrapper(communicator.__init__, _constructor(communicator.__init__))
    for function in MEET:
        if hasattr(library, function):
            setattr(library, function, wrapper(getattr(library, function), _meets))


def calls():
    """As standing.calls(), of the threads that meet in NCCL."""
    threads = set(_ends)
    stay, come = threads & _asked, threads - _asked
    _asked.clear()
    _asked.update(threads)
    return [MEET[0]] * len(stay), [MEET[0]] * len(come)


def _ends_by_exception(args, kwargs):
    error = sys.exc_info()[1]
    if error is not None:
        ending.report(error)
    return args, kwargs, None, None


def _constructor(original):
    def prepare(args, kwargs):
        group = Call(original, args, kwargs).arguments.get("group")
        if isinstance(group, sys.modules["torch.distributed"].ProcessGroup):  # else ranks that torch does not know
            _groups[native.get_ident()] = group
        return args, kwargs, lambda _: _leave(0, None), lambda error: _leave(1, error)

    return prepare


def _meets(args, kwargs):
    group = _groups.pop(native.get_ident(), None)
    if group is not None:
        quietly("pynccl", _enter, group)
    return args, kwargs, None, None


def _enter(group):
    name = str(sys.modules["torch.distributed.distributed_c10d"]._get_process_group_name(group))
    _made[name] = _made.get(name, 0) + 1
    about = {"group": "pynccl %d of %s" % (_made[name], name), "init": False}
    _ends[native.get_ident()] = groups.meet(groups.members(group), about)


def _leave(how, what):
    _groups.pop(native.get_ident(), None)
    ends = _ends.pop(native.get_ident(), None)
    if ends is not None:
        ends[how](what)
