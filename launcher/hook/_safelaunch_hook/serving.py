"""Whether this process waits for a request of somebody outside, as a server does: for hours, if nobody wants anything.

Its main thread waits for a connection, in accept() or in an event loop that has a socket which listens; or for a queue, which
another such thread fills. The kernel knows asyncio's loop, uvloop's and any other's alike: it tells what the thread sleeps on.
A thread beside the main thread that serves (metrics, a debugger) makes no server of a program.
"""
import os
import sys

from . import sleeping
from .answers import main_thread

# Both may wait by poll(), of which the kernel tells no descriptor.
_WAITS_BY_POLL = (("/socketserver.py", "serve_forever"), ("/socket.py", "accept"))
_QUEUE = ("/queue.py", "get")
_GRPC = ("/grpc/_server.py", "wait_for_termination")  # its threads, in C++, hand requests to Python's
_LOADS_DATA = "/torch/utils/data/"  # its threads are no servers
_BELOW = 3  # frames: the selector, or the queue's condition
_BELOW_GRPC = 5
_LISTENS = "0A"  # in /proc/net/tcp
_SOCKET_THAT_LISTENS = 0x10000  # a flag in /proc/net/unix


def waits_for_a_request():
    frames = sys._current_frames()
    frame = frames.pop(main_thread, None)
    if _listens(frame, main_thread):
        return True
    if not _is_in(frame, [_QUEUE]) or _loads_data(frame):
        return False
    return any(_listens(other, ident) for ident, other in frames.items())


def _listens(frame, ident):
    if _is_in(frame, _WAITS_BY_POLL) or _is_in(frame, [_GRPC], _BELOW_GRPC):
        return True
    number = sleeping.kernels_number(ident)
    descriptor = sleeping.first_argument(number) if number else None
    if descriptor is None:
        return False
    watched = _sockets([descriptor] + _watched_by(descriptor))
    return bool(watched) and not watched.isdisjoint(_listening())


def _is_in(frame, places, below=_BELOW):
    for _ in range(below):
        if frame is None:
            return False
        if any(frame.f_code.co_name == name and frame.f_code.co_filename.endswith(file) for file, name in places):
            return True
        frame = frame.f_back
    return False


def _loads_data(frame):
    while frame is not None:
        if _LOADS_DATA in frame.f_code.co_filename:
            return True
        frame = frame.f_back
    return False


def _watched_by(descriptor):
    """The descriptors that an epoll watches; of another kind of descriptor none."""
    lines = sleeping.read("/proc/self/fdinfo/%d" % descriptor).splitlines()
    return [int(line.split()[1]) for line in lines if line.startswith("tfd:")]


def _sockets(descriptors):
    """The kernel's numbers of those that are sockets."""
    numbers = set()
    for descriptor in descriptors:
        try:
            kind, _, number = os.readlink("/proc/self/fd/%d" % descriptor).partition(":[")
        except OSError:
            continue
        if kind == "socket":
            numbers.add(number.rstrip("]"))
    return numbers


def _listening():
    for file in ("tcp", "tcp6"):
        for line in sleeping.read("/proc/self/net/" + file).splitlines()[1:]:
            words = line.split()
            if words[3] == _LISTENS:
                yield words[9]
    for line in sleeping.read("/proc/self/net/unix").splitlines()[1:]:
        words = line.split()
        if int(words[3], 16) & _SOCKET_THAT_LISTENS:
            yield words[6]
