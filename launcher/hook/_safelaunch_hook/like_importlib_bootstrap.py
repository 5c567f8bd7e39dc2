"""Calls the program's functions from a frame of ours that leaves no trace.

A function of ours in another's place is a frame between the program's own. The program would see it in
two places, and sees it in neither:

* A traceback: before the exception goes on, the wrapper cuts the frames of this package off its head.
  Python adds none to an exception that a bare `raise` sends on.
* A warning's stacklevel: Python skips every file whose path has both of the words in this file's name,
  as it does with importlib's own frames.
"""
import sys


def around(original, prepare):
    """Gives a function that calls the original. prepare(args, kwargs) comes first and gives four things:
    args and kwargs to call it with, returned(result) and failed(error), which may be None."""

    def call(*args, **kwargs):
        failed = None
        try:
            args, kwargs, returned, failed = prepare(args, kwargs)
            result = original(*args, **kwargs)
            failed = None
            if returned is not None:
                returned(result)
            return result
        except BaseException as error:
            leave_no_trace(error)
            if failed is not None:
                failed(error)
            raise

    return call


def leave_no_trace(error):
    """Cuts our frames off the head of the traceback of the exception that is being handled. Follow it with
    a bare `raise`."""
    traceback = sys.exc_info()[2]
    while traceback is not None and traceback.tb_frame.f_code.co_filename.startswith(_OURS):
        traceback = traceback.tb_next
    BaseException.with_traceback(error, traceback)  # an exception's own class may forbid to set an attribute
    if sys.version_info < (3, 11):
        _change_the_note(error, traceback)


_OURS = leave_no_trace.__code__.co_filename.rpartition("/")[0] + "/"


def _change_the_note(error, traceback):
    """An older Python's `raise` takes the traceback not from the exception, but from where the interpreter
    has noted it. C alone can change that note."""
    try:
        import ctypes
    except ImportError:  # a Python without it shows our frame
        return
    thing = ctypes.py_object
    hold = ctypes.PYFUNCTYPE(None, thing)(("Py_IncRef", ctypes.pythonapi))
    note = ctypes.PYFUNCTYPE(None, thing, thing, thing)(("PyErr_SetExcInfo", ctypes.pythonapi))
    things = [type(error), error]
    for one in things + ([] if traceback is None else [traceback]):
        hold(one)  # the interpreter takes these references over
    note(type(error), error, thing() if traceback is None else traceback)


def without_ours(frame):
    """The innermost frame that is the program's."""
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OURS):
        frame = frame.f_back
    return frame
