"""What works for this process and fails behind its back: a thread that raises, a child that dies.

Either may leave the main thread waiting for ever, and says nothing of it, or only on stderr.
"""
import sys

from . import channel, imports
from .like_importlib_bootstrap import around

_MEANT = (0, -15, None)  # the status of a child that has come to its end, or was told to (SIGTERM), or goes on


def watch():
    _once_imported("threading", _watch_threads)
    _once_imported("multiprocessing.popen_fork", _watch_children)


def _once_imported(name, step):
    if name in sys.modules:
        step()
    else:
        imports.watch(name, step)


def _watch_threads():
    """As ending.watch_excepthook() does with sys.excepthook, and for the same reasons."""
    threading = sys.modules["threading"]
    original = getattr(threading, "excepthook", None)
    if original is None:  # before Python 3.8
        return

    def prepare(args, kwargs):
        if len(args) == 1:  # otherwise the original raises its TypeError
            _report(args[0])
        return args, kwargs, None, None

    excepthook = around(original, prepare)
    excepthook.__name__ = getattr(original, "__name__", "excepthook")
    threading.excepthook = excepthook
    if original is getattr(threading, "__excepthook__", None):
        threading.__excepthook__ = excepthook


def _report(told):
    try:
        if isinstance(told.exc_value, Exception):
            from . import exceptions

            channel.emit("thread.raised", **exceptions.fields(told.exc_value))
    except Exception as error:
        channel.fault("thread", error)


def _watch_children():
    """multiprocessing learns the status of a child here, and Pool starts another one without a word."""
    from .patching import wrapper

    popen = sys.modules["multiprocessing.popen_fork"].Popen

    def prepare(args, kwargs):
        child = args[0]
        if child.returncode is not None:
            return args, kwargs, None, None

        def returned(status):
            if status not in _MEANT:
                channel.emit("child.died", pid=child.pid, status=status)

        return args, kwargs, returned, None

    popen.poll = wrapper(popen.poll, prepare)
