"""How this process ends: the exception that nobody caught, and the orderly exit."""
import atexit
import os
import sys

from . import channel
from .like_importlib_bootstrap import around

_reported = []
# Both with the pid: a forked child inherits the notes, but not the threads, and has its own end.
_before_exit = []
_ended = set()


def watch():
    """Wraps sys.excepthook and registers the steps for the end."""
    watch_excepthook()
    atexit.register(_at_exit)


def watch_excepthook():
    """Wraps sys.excepthook. Where it is Python's own it stays the same as sys.__excepthook__: libraries
    compare the two to learn whether they may put in theirs (exceptiongroup), or print themselves (code)."""
    original = sys.excepthook
    sys.excepthook = _reporting(original)
    if original is sys.__excepthook__:
        sys.__excepthook__ = sys.excepthook


def before_exit(action):
    """Calls action() when this process's interpreter ends in order, before the last event."""
    _before_exit.append((os.getpid(), action))


def report(error):
    """Sends an exception that ends this process, once."""
    if any(error is known for known in _reported) or hasattr(sys, "ps1"):
        return  # at an interactive prompt an exception ends nothing
    # A user's Ctrl-C is no failure. Python then dies of SIGINT, and it forgets to if code that is
    # imported now (a namedtuple) runs eval().
    if isinstance(error, KeyboardInterrupt):
        return
    _reported.append(error)
    try:
        from . import exceptions

        told = exceptions.fields(error)
        channel.emit("exception", **told, **(_came_to(error) if told["comm"] else {}))
    except Exception as fault:
        channel.fault("exception", fault)


def reported():
    return list(_reported)


def failed():
    """True if an exception ends this process."""
    return bool(_reported)


def _reporting(original):
    def prepare(args, kwargs):
        if len(args) == 3:  # otherwise the original raises its TypeError
            report(args[1])  # first, since the program's own hook may end the process, or open a debugger
        return args, kwargs, None, None

    excepthook = around(original, prepare)
    excepthook.__name__ = getattr(original, "__name__", "excepthook")
    return excepthook


def _at_exit():
    if os.getpid() in _ended:
        return
    _ended.add(os.getpid())
    # A program that has put its own hook in ours' place (rich, IPython) is seen here, later.
    error = getattr(sys, "last_value", None)
    if isinstance(error, BaseException):
        report(error)
    for pid, action in _before_exit:
        try:
            if pid == os.getpid():
                action()
        except Exception as fault:
            channel.fault("exit", fault)
    del _before_exit[:]
    channel.emit("exit", **_collectives())
    channel.end()


def _came_to(error):
    """How far this process has come in each group: asked for it, it might be gone before it could answer."""
    try:
        from . import counters

        return counters.at_the_end(error)
    except Exception as fault:
        channel.fault("exception", fault)
        return {}


def _collectives():
    """How many collectives this process has finished; empty where torch has not counted any."""
    if "torch._C._distributed_c10d" not in sys.modules:
        return {}
    try:
        from . import counters

        finished = counters.finished()
        return {"collectives": finished} if finished else {}
    except Exception as fault:
        channel.fault("exit", fault)
        return {}


def watch_child():
    """Registers the end of a multiprocessing child: a forked one ends by os._exit, without atexit."""
    process = sys.modules.get("multiprocessing.process")
    util = sys.modules.get("multiprocessing.util")
    if process and util and getattr(process.current_process(), "_parent_pid", None) is not None:
        util.Finalize(None, _at_exit, exitpriority=-100)
