"""The first collective: seen when it is called; completion.py sees when it is finished.

A kernel on the dispatch key BackendSelect stands in front of every c10d operation, so that Python's
calls and C++'s (DDP, FSDP, DTensor) are seen alike. The first call removes it from inside: later
collectives cost nothing. A call in a group of a single rank waits for no other rank and does not count.
A torch whose Library.impl knows no keyset has Python wrappers instead, which do not see what C++ calls.
"""
import inspect
import sys

from . import calls, captures, channel, native, nccl_log
from .completion import Collective, device_among, group_in
from .like_importlib_bootstrap import around
from .patching import Call, quietly, replace, wrapper

# Not isend and irecv: P2POp compares them by identity.
_PYTHON_COLLECTIVES = (
    "all_reduce", "all_gather", "all_gather_into_tensor", "all_to_all", "all_to_all_single", "barrier",
    "broadcast", "gather", "monitored_barrier", "recv", "reduce", "reduce_scatter",
    "reduce_scatter_tensor", "scatter", "send", "_all_gather_base", "_reduce_scatter_base",
)

_pending = [True]  # popped by the first collective; a list, because pop() is atomic
_put_back = []  # what removes all that stands before the program's calls; empty: nothing does
_kernels = []  # keeps this world's kernels: when they are removed, another thread may be inside one and wait for the GIL
_passed = [0]  # calls that have come by since the first, because other threads were in the way of the removal
_CALLING = ("/torch/distributed/", "/torch/_ops.py")  # whose functions call collectives
_replays = []  # the wait for the replay of the graph in which the first collective was captured
_batches = {}  # thread → the first collective of the batch (_start_coalescing) that it makes, or None


def watch(torch):
    """Begins to watch. Call it before a world's group is made: each world has a first collective."""
    captures.watch(torch)
    _pending[:] = [True]
    _passed[0] = 0
    _await_no_replay()
    if _put_back:
        return
    if "with_keyset" in inspect.signature(torch.library.Library.impl).parameters:
        _watch_dispatcher(torch)
    else:
        _watch_functions(sys.modules["torch.distributed.distributed_c10d"])
    quietly("batches", _watch_batches, sys.modules["torch._C._distributed_c10d"].ProcessGroup)


def _is_first(arguments):
    if _meets_nobody(arguments) or (_replays and captures.are_under_way()):
        return False
    try:
        return _pending.pop()
    except IndexError:
        return False


def _meets_nobody(arguments):
    """True for a group of one rank in a larger world (Megatron makes one where a degree of parallelism is 1),
    and for tensors without values (FakeTensorMode, to trace or to estimate): torch calls no backend for them."""
    try:
        if getattr(device_among(arguments), "type", None) == "meta":
            return True
        world = sys.modules["torch.distributed"].get_world_size()
        groups = map(group_in, arguments)
        return world > 1 and any(group is not None and group.size() == 1 for group in groups)
    except Exception:  # a torch that keeps its groups otherwise: every collective counts
        return False


def _watch_dispatcher(torch):
    key = torch._C.DispatchKey.BackendSelect
    library = torch.library.Library("c10d", "IMPL")
    kernel_of = getattr(torch._C, "_dispatch_get_computed_kernel_for_dispatch_key", None)
    del _kernels[:]
    for full_name in torch._C._dispatch_get_all_op_names():
        namespace, _, name = full_name.partition("::")
        if namespace != "c10d" or name == "check_for_nan":
            continue
        packet, _, overload = name.partition(".")
        operation = getattr(getattr(torch.ops.c10d, packet), overload or "default")
        library.impl(name, _kernel(operation, packet, key), "BackendSelect", with_keyset=True)
        if kernel_of is not None:
            _kernels.append(kernel_of(full_name, "BackendSelect"))
    _put_back.append(library._destroy)


def _kernel(operation, name, key):
    names = [argument.name for argument in operation._schema.arguments]

    def prepare(args, kwargs):
        args = (args[0].remove(key),) + args[1:]
        return (args, kwargs) + _follow_if_first(name, args[1:] + tuple(kwargs.values()), about)

    def about(arguments, group):
        return calls.about(name, dict(zip(names, arguments)), group, in_group=True)

    # Not operation.redispatch, which is Python and would stand in the tracebacks.
    return around(operation._handle.redispatch_boxed, prepare)


def _watch_functions(c10d):
    for original in [getattr(c10d, name) for name in _PYTHON_COLLECTIVES if hasattr(c10d, name)]:
        ours = _wrapper(original)
        replace(original, ours)
        _put_back.append(lambda ours=ours, original=original: replace(ours, original))


def _wrapper(original):
    def prepare(args, kwargs):
        def about(_, group):
            named = {"async_op": False, **Call(original, args, kwargs).arguments}
            return calls.about(original.__name__, named, group, in_group=False)

        return (args, kwargs) + _follow_if_first(original.__name__, args + tuple(kwargs.values()), about)

    return wrapper(original, prepare)


def _follow_if_first(name, arguments, about):
    """What to call when the operation has returned or failed; nothing where it is not the first."""
    if not _is_first(arguments):
        return (None if _pending else _passes_by), None
    quietly("NCCL's log", nccl_log.do_without_where_it_cannot_be_written)
    channel.emit("coll.enter", **_told_of(name, arguments, about))
    collective = Collective(name, arguments, _begin_again)
    ended, failed = _end_of(collective)

    def returned(result):
        if native.get_ident() in _batches:
            _batches[native.get_ident()] = collective
        else:
            ended(result)

    return returned, failed


def _told_of(name, arguments, about):
    """The fields of the event; of a torch that keeps its groups otherwise the operation alone."""
    try:
        return about(arguments, next((group for group in map(group_in, arguments) if group is not None), None))
    except Exception:
        return {"op": name}


def _end_of(collective):
    """What to call when its call, or the batch that it is in, has returned or failed."""
    def returned(result):
        if captures.are_under_way():
            return quietly(collective.name, _await_replay, collective)
        _stop_watching()
        quietly(collective.name, collective.returned, result)

    def failed(error):
        collective.failed(error)
        _pending[:] = [True]  # the program may catch it: its next collective is the first

    return returned, failed


def _await_replay(collective):
    """It was captured in a graph, and waits for nobody until that is replayed, or another is called before."""
    channel.emit("coll.queued", op=collective.name)
    _pending[:] = [True]

    def replayed():
        try:
            _pending.pop()
        except IndexError:  # another collective was the first
            return None, None
        channel.emit("coll.enter", op=collective.name)
        collective.begins()
        return _end_of(collective)

    _replays.append(captures.Replay(sys.modules["torch"], replayed))


def _await_no_replay():
    while _replays:
        _replays.pop().is_awaited_no_more()


def _begin_again():
    """The first collective failed when the program waited for it: its next one is the first."""
    if not _others_call():
        watch(sys.modules["torch"])


def _stop_watching():
    """Removes what stands before the calls, or leaves it to a later call. watch() begins again for another world."""
    _await_no_replay()
    while _put_back and not _others_call():
        quietly("removing", _put_back.pop())


def _others_call():
    """True if another thread may be on its way through torch's dispatcher, which it needs no GIL for. What it
    has found there would be gone when it calls it."""
    frames = sys._current_frames()
    frames.pop(native.get_ident(), None)
    return any(words in frame.f_code.co_filename for frame in frames.values() for words in _CALLING)


def _passes_by(_):
    """A later call tries to remove what is still there, ever more rarely."""
    _passed[0] += 1
    if not _batches and _passed[0] & (_passed[0] - 1) == 0:
        _stop_watching()


def _watch_batches(groups):
    """The calls of a batch are not enqueued one by one: all of them are, when the batch ends."""
    start, end = groups._start_coalescing, groups._end_coalescing
    methods = {name: vars(groups)[name] for name in ("_start_coalescing", "_end_coalescing")}  # the functions alone do not bind

    def begun(args, kwargs):
        _batches.setdefault(native.get_ident())
        return args, kwargs, None, leave

    def leave(_):
        _batches.pop(native.get_ident(), None)

    def ends(args, kwargs):
        collective = _batches.pop(native.get_ident(), None)
        return (args, kwargs) + ((None, None) if collective is None else _end_of(collective))

    def put_back():
        for name, method in methods.items():
            setattr(groups, name, method)
        _batches.clear()  # the end of a batch of another thread is not seen any more

    groups._start_coalescing, groups._end_coalescing = wrapper(start, begun), wrapper(end, ends)
    _put_back.append(put_back)
