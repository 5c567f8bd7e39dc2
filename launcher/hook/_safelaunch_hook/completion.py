"""The end of the first collective: a call that has returned may have finished nothing yet.

Three know the end, in this order:

* the Work that the call gives: gloo always gives one, NCCL for an asynchronous call, and for every call up
  to torch 2.7;
* an event behind the call: since torch 2.8 NCCL runs a call that is not asynchronous on the program's own
  stream, returns once it is enqueued, and gives no Work. An event that the same thread records right behind
  it, on the same stream, is reached when the collective is;
* the call itself, where no device is involved (monitored_barrier).

A call that was captured in a CUDA graph runs when the graph is replayed: then an event behind the replay tells.

What the device has to do before it comes to the collective is no wait for others: an event before the call tells.
"""
import os
import sys
import time

from . import answers, captures, channel, ending, native, waits
from .patching import quietly, send_failure

_SHORTEST_WAIT = 0.0005  # seconds between two looks
_LONGEST_WAIT = 0.1
_LONG_QUEUE = 1  # second for which the device may do other things before anybody is told
_LONGEST_END = 5  # seconds for which a poller that is stuck inside torch delays the exit; others end at once
_polls = {}  # pid → the last poll of this process: a forked child inherits the note, but not the thread


def leave_world():
    """Says what there is to say of the world's first collective now: later it would be taken for the next world's."""
    poll = _polls.pop(os.getpid(), None)
    if poll is not None:
        poll.end()
    waits.leave()


class Collective:
    """One call of an operation: its name, when it began, and its arguments' group and device.

    begin_again() is called where it fails so late that nobody looks for the next collective any more."""

    def __init__(self, name, arguments, begin_again):
        self.name, self._begin_again = name, begin_again
        self._group, self._device = _group_among(arguments), device_among(arguments)
        # Without a tensor it is not known: an older torch's barrier of NCCL has none.
        self._on_cpus = self._device is None and any(True for _ in _tensors_in(arguments))
        self._untold = [True]  # popped by the first who tells of its end
        self.begins()

    def begins(self):
        self.began, self.is_begun = time.monotonic(), _always
        quietly("queue", self._look_at_the_queue)

    def _look_at_the_queue(self):
        if self._device is not None and not captures.are_under_way():
            self.is_begun = _event_behind(self._device) or _always

    def returned(self, result):
        """The call has returned. Call it in the thread of the call, before anything else is enqueued."""
        is_finished = self._question(result)
        work = _work_in(result)
        if is_finished is None:
            self._finished(work, observed=False)
        elif is_finished():
            self._finished(work)
        elif native.has_threads():
            waits.watch(work, self._wait_failed, self._waited if self._on_cpus else None)
            _Poll(is_finished, self, work).wait_in_a_thread()
        else:  # no thread can look again
            self._finished(None, observed=False)

    def failed(self, error):
        if self._is_first():
            send_failure("coll.failed", error, op=self.name)

    def _is_first(self):
        try:
            return self._untold.pop()
        except IndexError:
            return False

    def _waited(self, work):
        """The program knows it before our thread has looked again, and may die of its next step before that."""
        quietly("wait", self._finished, work)

    def _wait_failed(self, error):
        self.failed(error)
        self._begin_again()

    def _question(self, result):
        """What tells whether the collective is finished; None where nothing may be asked."""
        work = _work_in(result)
        if work is not None:
            return _is_over(work) if self._on_cpus else work.is_completed
        try:
            return _always if self._device is None else _event_behind(self._device)
        except Exception:  # a device whose streams and events torch does not know
            return None

    def _finished(self, work, observed=True):
        """Asks the future for its value, since is_completed() is true for a failed work too. (The work's
        own exception() and is_success() print a deprecation warning on the program's stderr.)"""
        try:
            if work is not None and observed:
                work.get_future().value()
        except Exception as error:
            if "not implemented" not in str(error):  # send and recv have no future
                if self._untold:
                    waits.watch(work, self._wait_failed)
                return self.failed(error)
        if not self._is_first():
            return
        waits.leave()
        trouble = _trouble_of(self._group, self._device)
        if trouble:  # what was aborted leaves the device, and looks finished
            return channel.emit("coll.failed", op=self.name, type="DistBackendError", err=trouble, comm=True)
        more = {} if observed else {"observed": False}
        channel.emit("coll.done", op=self.name, ms=round((time.monotonic() - self.began) * 1000, 3), **more)


def _always():
    return True


def _is_over(work):
    """The question whether a work on CPUs is finished. Gloo wakes who waits for the work's future before it says of the
    work that it is completed: the program may destroy the group, and end, in between. (The future of a device's work
    is completed when the work is enqueued.)"""
    try:
        future = work.get_future()
    except Exception:  # send and recv have none
        return work.is_completed
    return lambda: work.is_completed() or future.done()


def _work_in(result):
    """An operation of c10d gives (tensors, Work), Work or nothing, and the Work may be boxed."""
    library = sys.modules["torch._C._distributed_c10d"]
    last = result[-1] if isinstance(result, tuple) else result
    if last is None or isinstance(last, library.Work):
        return last
    return library.Work.unbox(last)


def _event_behind(device):
    """The question of an event on the device's present stream; None where there can be none."""
    torch = sys.modules["torch"]
    module = getattr(torch, device.type, None)  # torch.cuda, torch.xpu, torch.npu, …
    if getattr(module, "is_current_stream_capturing", bool)():  # by C++, which no hook of ours sees
        return None
    event = torch.Event(device) if hasattr(torch, "Event") else module.Event()
    event.record(module.current_stream(device))
    return event.query


def _trouble_of(group, device):
    """What a backend says of an abort (torch 2.7 and later); empty where all is well or it cannot be asked."""
    try:
        error = group._get_backend(device).get_error()
        return "" if error.name == "SUCCESS" else "the communicator was aborted: %s" % error.name
    except Exception:
        return ""


def _group_among(arguments):
    return next((group for group in map(group_in, arguments) if group is not None), None)


def group_in(argument):
    """The process group that an argument is; None for anything else."""
    library = sys.modules["torch._C._distributed_c10d"]
    if isinstance(argument, library.ProcessGroup):
        return argument
    if hasattr(argument, "_type") and "ProcessGroup" in str(argument._type()):  # as the dispatcher hands it on
        return library.ProcessGroup.unbox(argument)
    return None


def device_among(arguments):
    """The device, other than the CPU, on which the first tensor lies that is on one; None where all are not."""
    return next((tensor.device for tensor in _tensors_in(arguments) if tensor.device.type != "cpu"), None)


def _tensors_in(arguments):
    for argument in arguments:
        if isinstance(argument, sys.modules["torch"].Tensor):
            yield argument
        elif isinstance(argument, (list, tuple)):
            for tensor in _tensors_in(argument):
                yield tensor


class _Poll:
    """Asks from a thread of its own. Waiting would be quieter, but the process aborts if the interpreter
    ends while a thread is inside torch. So this thread polls, and is ended first."""

    def __init__(self, is_finished, collective, work):
        self._what = (is_finished, collective, work)
        self._stop = native.allocate_lock()
        self._stop.acquire()
        self._ended = native.allocate_lock()
        self._ended.acquire()

    def wait_in_a_thread(self):
        _polls[os.getpid()] = self
        ending.before_exit(self.end)
        answers.start_thread(self._poll)

    def _poll(self):
        try:
            answers.name_thread()
            is_finished, collective, work = self._what
            if self._is_begun(collective) and self._until(is_finished):
                collective._finished(work)
        except Exception as error:
            channel.fault("completion", error)
        finally:
            self._what = is_finished = collective = work = None  # the work, and with it the group, may go
            self._ended.release()

    def _is_begun(self, collective):
        if self._until(collective.is_begun, _LONG_QUEUE):
            return True
        channel.emit("coll.queued", op=collective.name)
        if not self._until(collective.is_begun):
            return False
        channel.emit("coll.enter", op=collective.name)
        return True

    def _until(self, question, seconds=float("inf")):
        """Whether the answer is yes, in that time and before the interpreter ends."""
        wait, end = _SHORTEST_WAIT, time.monotonic() + seconds
        while not captures.ask(question) and time.monotonic() < end:
            if self._stop.acquire(True, wait):
                self._stop.release()  # for whoever asks next
                break
            wait = min(wait * 1.5, _LONGEST_WAIT)
        return captures.ask(question)

    def end(self):
        """Lets the thread look once more; at the end of a world and again at the exit."""
        if self._stop.locked():
            self._stop.release()
        if self._ended.acquire(True, _LONGEST_END):
            self._ended.release()
