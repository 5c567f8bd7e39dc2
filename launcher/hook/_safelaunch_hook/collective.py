"""The first collective: seen when it is called, and when it is finished on the device.

A kernel on the dispatch key BackendSelect stands in front of every c10d operation, so that Python's
calls and C++'s (DDP, FSDP, DTensor) are seen alike. The first call removes it from inside: later
collectives cost nothing. A call in a group of a single rank waits for no other rank and does not count.
A torch whose Library.impl knows no keyset has Python wrappers instead, which do not see what C++ calls.
"""
import inspect
import sys
import time

from . import answers, captures, channel, ending, native
from .like_importlib_bootstrap import around
from .patching import quietly, replace, send_failure, wrapper

_SHORTEST_WAIT = 0.0005  # seconds between two looks at the first collective
_LONGEST_WAIT = 0.1
_LONGEST_END = 5  # seconds for which a poller that is stuck inside torch delays the exit; others end at once
# Not isend and irecv: P2POp compares them by identity.
_PYTHON_COLLECTIVES = (
    "all_reduce", "all_gather", "all_gather_into_tensor", "all_to_all", "all_to_all_single", "barrier",
    "broadcast", "gather", "monitored_barrier", "recv", "reduce", "reduce_scatter",
    "reduce_scatter_tensor", "scatter", "send", "_all_gather_base", "_reduce_scatter_base",
)

_pending = [True]  # popped by the first collective; a list, because pop() is atomic
_armed = []


def watch(torch):
    """Begins to watch. Call it before a world's group is made: each world has a first collective."""
    captures.watch(torch)
    if _armed:
        return
    _armed.append(True)
    _pending[:] = [True]
    if "with_keyset" in inspect.signature(torch.library.Library.impl).parameters:
        _watch_dispatcher(torch)
    else:
        _watch_functions(sys.modules["torch.distributed.distributed_c10d"])


def _is_first(arguments):
    if _meets_nobody(arguments):
        return False
    try:
        return _pending.pop()
    except IndexError:
        return False


def _meets_nobody(arguments):
    """True for a group of one rank in a larger world. Megatron makes one where a degree of parallelism is 1."""
    try:
        library = sys.modules["torch._C._distributed_c10d"]
        world = sys.modules["torch.distributed"].get_world_size()
        return world > 1 and any(_size(library, one) == 1 for one in arguments)
    except Exception:  # a torch that keeps its groups otherwise: every collective counts
        return False


def _size(library, argument):
    if isinstance(argument, library.ProcessGroup):
        return argument.size()
    if hasattr(argument, "_type") and "ProcessGroup" in str(argument._type()):  # as the dispatcher hands it on
        return library.ProcessGroup.unbox(argument).size()
    return None


def _watch_dispatcher(torch):
    key = torch._C.DispatchKey.BackendSelect
    library = torch.library.Library("c10d", "IMPL")
    for full_name in torch._C._dispatch_get_all_op_names():
        namespace, _, name = full_name.partition("::")
        if namespace != "c10d" or name == "check_for_nan":
            continue
        packet, _, overload = name.partition(".")
        operation = getattr(getattr(torch.ops.c10d, packet), overload or "default")
        kernel = _kernel(operation, packet, key, library._destroy)
        library.impl(name, kernel, "BackendSelect", with_keyset=True)


def _kernel(operation, name, key, remove):
    def prepare(args, kwargs):
        args = (args[0].remove(key),) + args[1:]
        if not _is_first(args[1:] + tuple(kwargs.values())):
            return args, kwargs, None, None
        returned, failed = _follow(name, remove)
        return args, kwargs, returned, failed

    # Not operation.redispatch, which is Python and would stand in the tracebacks.
    return around(operation._handle.redispatch_boxed, prepare)


def _watch_functions(c10d):
    """Wraps the functions of an older torch. A collective that has returned counts as finished there."""
    originals = [getattr(c10d, name) for name in _PYTHON_COLLECTIVES if hasattr(c10d, name)]
    wrappers = []

    def put_back():
        for original, ours in zip(originals, wrappers):
            replace(ours, original)

    for original in originals:
        wrappers.append(_wrapper(original, put_back))
        replace(original, wrappers[-1])


def _wrapper(original, put_back):
    def prepare(args, kwargs):
        if not _is_first(args + tuple(kwargs.values())):
            return args, kwargs, None, None
        returned, failed = _follow(original.__name__, put_back)
        return args, kwargs, returned, failed

    return wrapper(original, prepare)


def _follow(name, remove):
    """The first collective begins. Gives what to call at its end; both remove what stands before the others."""
    channel.emit("coll.enter", op=name)
    began = time.monotonic()

    def returned(result):
        end()
        quietly(name, _returned, name, began, result)

    def failed(error):
        send_failure("coll.failed", error, op=name)
        end()

    def end():
        quietly("removing " + name, remove)
        del _armed[:]

    return returned, failed


def _returned(name, began, result):
    """Follows a call that has returned: an asynchronous backend has finished nothing yet."""
    work = _work(result)
    if captures.are_under_way():  # it is recorded in a CUDA graph, and its events may never be asked for
        _completed(name, began, None)
    elif work is None or work.is_completed():
        _completed(name, began, work)
    elif not native.has_threads():  # no thread can look again, so the collective counts as finished
        _completed(name, began, None)
    else:
        _Completion(name, began, work).wait_in_a_thread()


def _work(result):
    """An operation of c10d gives (tensors, Work), Work or nothing, and the Work may be boxed."""
    library = sys.modules["torch._C._distributed_c10d"]
    last = result[-1] if isinstance(result, tuple) else result
    if last is None or isinstance(last, library.Work):
        return last
    return library.Work.unbox(last)


def _completed(name, began, work):
    """Asks the future for its value, since is_completed() is true for a failed work too. (The work's
    own exception() and is_success() print a deprecation warning on the program's stderr.)"""
    try:
        if work is not None:
            work.get_future().value()
    except Exception as error:
        if "not implemented" not in str(error):  # send and recv have no future
            send_failure("coll.failed", error, op=name)
            return
    channel.emit("coll.done", op=name, ms=round((time.monotonic() - began) * 1000, 3))


class _Completion:
    """Polls one work from a thread of its own. Waiting would be quieter, but the process aborts if the
    interpreter ends while a thread is inside torch. So this thread polls, and is ended first."""

    def __init__(self, name, began, work):
        self._call = (name, began, work)
        self._stop = native.allocate_lock()
        self._stop.acquire()
        self._ended = native.allocate_lock()
        self._ended.acquire()

    def wait_in_a_thread(self):
        ending.before_exit(self._end)
        answers.start_thread(self._poll)

    def _poll(self):
        try:
            answers.name_thread()
            work, wait = self._call[2], _SHORTEST_WAIT
            while not captures.ask(work.is_completed) and not self._stop.acquire(True, wait):
                wait = min(wait * 1.5, _LONGEST_WAIT)
            if captures.ask(work.is_completed):
                _completed(*self._call)
        except Exception as error:
            channel.fault("completion", error)
        finally:
            self._call = work = None  # the work, and with it the group, may go
            self._ended.release()

    def _end(self):
        self._stop.release()
        self._ended.acquire(True, _LONGEST_END)
