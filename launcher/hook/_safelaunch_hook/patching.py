"""Putting a wrapper in a function's place, and taking a failure apart for an event."""
import functools
import inspect
import sys

from . import channel, exceptions
from .like_importlib_bootstrap import around


def replace(original, wrapper):
    """Puts the wrapper everywhere in torch where the function is already known by its name."""
    name = original.__name__
    for module_name, module in list(sys.modules.items()):
        if module_name.startswith("torch.") and getattr(module, "__dict__", {}).get(name) is original:
            setattr(module, name, wrapper)


def stand_before(original, prepare):
    """Puts a wrapper before the function. Where torch has wrapped the function itself, ours goes into torch's wrapper:
    then the function that the program knows, compares and inspects stays the one that it is."""
    cell = _cell_of_the_wrapped(original)
    try:
        cell.cell_contents = wrapper(cell.cell_contents, prepare)
    except AttributeError:  # a function without a wrapper, or a Python before 3.7
        replace(original, wrapper(original, prepare))


def _cell_of_the_wrapped(function):
    inner = getattr(function, "__wrapped__", None)
    for cell in getattr(function, "__closure__", None) or ():
        if inner is not None and cell.cell_contents is inner:
            return cell
    return None


def like(original, ours):
    """Ours as an attribute of a class, of the kind that the original is there: pybind's functions are instancemethods."""
    kind = type(original)
    return kind(ours) if kind.__name__ == "instancemethod" else ours


def wrapper(original, prepare):
    """Gives a function with the original's name that calls it, and leaves no trace in tracebacks; around()
    says what prepare() is."""
    return functools.wraps(original)(around(original, prepare))


class Call:
    """A call's arguments by name, to look at and to change. A call that does not fit the function's
    signature is left as it is, so that the program gets its own TypeError."""

    def __init__(self, function, args, kwargs):
        self.args, self.kwargs, self.arguments = args, kwargs, {}
        self._name, self._bound = function.__name__, None
        try:
            self._bound = inspect.signature(function).bind_partial(*args, **kwargs)
            self.arguments = dict(self._bound.arguments)
        except TypeError:
            pass

    def change(self, step):
        """Lets step(arguments) change them; if it fails, the call stays as the program made it."""
        if self._bound is None:
            return
        try:
            step(self._bound.arguments)
            self.args, self.kwargs = self._bound.args, self._bound.kwargs
            self.arguments = dict(self._bound.arguments)
        except Exception as error:
            channel.fault(self._name, error)


def quietly(where, step, *args, **kwargs):
    """Does a step of ours and keeps its failure from the program."""
    try:
        step(*args, **kwargs)
    except Exception as error:
        channel.fault(where, error)


def send_failure(event, error, **fields):
    """Sends an event about an exception that is on its way to the program."""
    quietly(event, _send_failure, event, error, fields)


def _send_failure(event, error, fields):
    channel.emit(
        event, type=exceptions.type_name(error), err=str(error), comm=exceptions.is_communication(error), **fields
    )
