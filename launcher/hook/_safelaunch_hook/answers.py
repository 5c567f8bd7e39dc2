"""Answers safelaunch's questions: where is this process, and which collectives has it finished?

A thread waits in recv() and wakes for a question only, in training too. It ends with the connection.
The thread is called `safelaunch` in /proc/PID/task/TID/comm, so that a judge of the
process can leave it out. It is made by _thread: importing `threading` costs every start, and doing so
here would make this thread the main one.
"""
import _signal
import gc
import os
import sys

from . import channel, ending, native

_FRAMES = 60  # of the main thread
_FRAMES_OF_OTHERS = 12
_OUTERMOST = 20  # of them are the outermost ones: below a deep import they are the program's own
_THREADS = 30
_LONGEST_REQUEST = 4096
# Functions that wait for a lock file: the end of their file, their name, and the variables that may hold its
# path: a local one, or one of `self`.
_WAITS_FOR_LOCK = (("torch/utils/file_baton.py", "wait", ("self.lock_file_path",)),
                   ("filelock/_api.py", "acquire", ("canonical", "lock_filename")),
                   ("filelock/_core/_lock.py", "acquire", ("canonical_path",)))
main_thread = native.get_ident()  # the main thread imports this module, in sitecustomize or torch's import
_paused = False  # the garbage collection, by us
_listening = set()  # the pid of this process, once it has the thread
# Without the C library's own signals, which old Pythons refuse. (valid_signals() came with Python 3.8.)
_ALL_SIGNALS = set(range(1, _signal.NSIG)) - set(range(32, _signal.SIGRTMIN))


def listen():
    """Starts the thread, unless this process has it or there is no safelaunch that could ask."""
    if native.has_threads() and channel.is_open() and os.getpid() not in _listening:
        _listening.add(os.getpid())  # a forked child inherits the note, but not the thread
        start_thread(_serve)


def start_thread(function):
    """Starts a thread that takes no signal. Otherwise the kernel could give our thread a signal that the
    program blocks in order to wait for it, and its default action would follow."""
    before = _signal.pthread_sigmask(_signal.SIG_BLOCK, _ALL_SIGNALS)
    try:
        native.start_new_thread(function, ())
    finally:
        _signal.pthread_sigmask(_signal.SIG_SETMASK, before)


def name_thread():
    """Gives the calling thread its name."""
    try:
        with open("/proc/thread-self/comm", "wb") as file:
            file.write(b"safelaunch")
    except OSError:
        pass


def _serve():
    try:
        if native.in_main_thread():  # then the program itself would wait for safelaunch
            return
        name_thread()
        while not channel.is_connected():  # safelaunch's backlog is full, or it is gone
            if not channel.is_open():
                return
            native.sleep(0.2)
        _answer_all()
    except Exception as error:
        channel.fault("answers", error)


def _answer_all():
    """Without the garbage collection: what the program has left to it may be bound to the thread that made it (sqlite3).
    While it is on nothing is made here that could begin one."""
    answering, receiver = channel.answering(), channel.receiver()
    while receiver is not None:
        request = _receive(receiver)
        if not request:
            return
        answering.acquire()  # where this process has come to its end, for ever
        _collect_no_more()
        try:
            _answer(request)
        except Exception as error:  # this question has no answer; the next one may have
            channel.fault("answers", error)
        finally:
            receiver = channel.receiver()
            _collect_again()
            answering.release()


def _collect_no_more():
    global _paused
    _paused = gc.isenabled()
    gc.disable()


def _collect_again():
    """Where we have stopped it; also in a child that is forked meanwhile."""
    global _paused
    if _paused:
        _paused = False
        gc.enable()


def _receive(receiver):
    try:
        return os.read(receiver.fileno(), _LONGEST_REQUEST)  # recv() makes a tuple of its argument
    except OSError:
        return b""


def _answer(request):
    import json

    question = json.loads(request.decode())
    if question["q"] == "stack":
        channel.emit("stack", id=question["id"], threads=threads(), **_handled())
    elif question["q"] == "counters":
        from . import counters

        channel.emit("counters", id=question["id"], **counters.read())
    elif question["q"] == "collectives":
        from . import counters

        channel.emit("collectives", id=question["id"], **counters.collectives())
    elif question["q"] == "arrivals":
        from . import arrivals

        channel.emit("arrivals", id=question["id"], **arrivals.read())
    # "here" has no answer: it is enough that this thread looks at its connection again.


def threads():
    """Every thread's name and frames, the main thread first, the innermost frame last."""
    stacks = sys._current_frames()
    stacks.pop(native.get_ident(), None)
    names = _names()
    result = []
    for ident in sorted(stacks, key=lambda ident: ident != main_thread)[:_THREADS]:
        most = _FRAMES if ident == main_thread else _FRAMES_OF_OTHERS
        name = "MainThread" if ident == main_thread else names.get(ident, "thread %d" % ident)
        result.append({"name": name, "frames": frames_of(stacks[ident], most)})
    return result


def _handled():
    """The exception that a thread handles, the main thread's first: the program's `finally` may wait for ever, and
    nobody would ever see why. `leaves`: it goes on to the caller then. (Python tells of them from 3.10 on.)"""
    main = _stack_of(sys._current_frames().get(main_thread))
    for error in ending.reported():
        if error.__traceback__ is not None and error.__traceback__.tb_frame not in main:  # what waits is an atexit function
            return _told(error, leaves=True)
    current = getattr(sys, "_current_exceptions", dict)()
    for ident in sorted(current, key=lambda ident: ident != main_thread):
        error = current[ident][1] if isinstance(current[ident], tuple) else current[ident]
        if isinstance(error, Exception) and ident != native.get_ident():
            return _told(error)
    return {}


def _told(error, leaves=None):
    from . import exceptions  # only now: its imports cost the rank, perhaps in the middle of an import of its own

    return {"handled": exceptions.fields_at_a_look(error), "leaves": exceptions.leaves(error) if leaves is None else leaves}


def _stack_of(frame):
    frames = []
    while frame is not None:
        frames.append(frame)
        frame = frame.f_back
    return frames


def _names():
    # While the program imports it, the module has no table of its threads yet.
    active = getattr(sys.modules.get("threading"), "_active", {})
    return {ident: thread.name for ident, thread in list(active.items())}


def frames_of(frame, most):
    """Its file, line and function and those of its callers, at most so many, the innermost last."""
    frames = _stack_of(frame)
    outermost = min(_OUTERMOST, most // 2)
    if len(frames) > most:
        frames[most - outermost:-outermost] = []
    return [_line(frame) for frame in reversed(frames)]


def _line(frame):
    code = frame.f_code
    return "%s:%s %s%s" % (code.co_filename, frame.f_lineno, code.co_name, _lock(frame, code))


def _lock(frame, code):
    """"(lock=/data/lock)" for a frame that waits for a lock file; a blank in it is \\040."""
    for file, function, names in _WAITS_FOR_LOCK:
        if code.co_name == function and code.co_filename.endswith(file):
            for name in names:
                path = _text(frame.f_locals, name)
                if path:
                    return "(lock=%s)" % path.replace(" ", "\\040")
    return ""


def _text(variables, name):
    # Only what is stored is read: a property or a __str__ would run the program's own code here.
    owner, dot, attribute = name.partition(".")
    try:
        if dot:
            variables = object.__getattribute__(variables[owner], "__dict__")
        value = variables.get(attribute or owner)
        if type(value).__module__.startswith("pathlib"):
            value = os.fspath(value)
        return os.fsdecode(value) if type(value) in (str, bytes) else ""
    except Exception:  # another version of the library
        return ""


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_collect_again)
