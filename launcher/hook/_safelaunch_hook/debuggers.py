"""Tells that the process waits for a person's debugger: until one connects, or lets it go on at a breakpoint.

A debugger of an editor waits in a socket, as any program may that is stuck; only the debugger itself knows
that a person is to come.
"""
import sys

from . import channel
from .patching import quietly, wrapper

_ports = {}  # the port on which each debugger listens, as far as it is known


def watch(name):
    """Wraps what waits in a debugger that has been imported."""
    _DEBUGGERS[name](sys.modules[name])


def _debugpy(debugpy):
    listen = debugpy.listen

    def prepare(args, kwargs):
        def returned(endpoint):
            _ports["debugpy"] = endpoint[1]

        return args, kwargs, returned, None

    debugpy.listen = wrapper(listen, prepare)
    debugpy.wait_for_client = _person(debugpy.wait_for_client, lambda args, kwargs: _ports.get("debugpy"))


def _pydevd(pydevd):
    """A breakpoint of debugpy, PyCharm and PyDev: a person looks around."""
    pydevd.PyDB.do_wait_suspend = _person(pydevd.PyDB.do_wait_suspend, lambda args, kwargs: _ports.get("debugpy"))


def _remote_pdb(module):
    made = module.RemotePdb.__init__  # it waits for the connection
    module.RemotePdb.__init__ = _person(made, lambda args, kwargs: kwargs.get("port", args[2] if len(args) > 2 else None))


def _rpdb(module):
    made = module.Rpdb.__init__
    module.Rpdb.__init__ = _person(made, lambda args, kwargs: kwargs.get("port", args[2] if len(args) > 2 else 4444))


def _person(original, port_of):
    def prepare(args, kwargs):
        quietly("person", lambda: channel.emit("person.enter", by="a debugger", port=port_of(args, kwargs)))

        def over(_):
            channel.emit("person.exit")

        return args, kwargs, over, over

    return wrapper(original, prepare)


_DEBUGGERS = {"debugpy": _debugpy, "pydevd": _pydevd, "remote_pdb": _remote_pdb, "rpdb": _rpdb}
