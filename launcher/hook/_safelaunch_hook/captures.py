"""Asks nothing about a GPU while the program captures a CUDA graph.

Such a question (cudaEventQuery) makes a capture in the mode "global", which is torch's default, fail, from
whichever thread it comes. What is captured runs later: when the graph is replayed.
"""
import os
import weakref

from . import native
from .patching import quietly, wrapper

_LONGEST_WAIT = 5  # seconds for which a question that is stuck inside torch delays a capture, and other questions
_asking = native.allocate_lock()
_under_way = []  # the graph of each capture
_watched = []


def watch(torch):
    """Wraps the begin and the end of torch's captures. A build without GPUs has none."""
    if not _watched and (torch.version.cuda or torch.version.hip):
        _watched.append(True)
        quietly("captures", _wrap, torch.cuda.CUDAGraph)


def are_under_way():
    return bool(_under_way)


def ask(question):
    """Gives the answer, or None while a capture is under way. A capture that is to begin waits for it."""
    asking = _asking
    if not asking.acquire(True, _LONGEST_WAIT):
        return None
    try:
        return None if _under_way else question()
    finally:
        asking.release()


def _forget():
    """In a forked child: who was asking is not here."""
    global _asking
    _asking = native.allocate_lock()
    del _under_way[:]


class Replay:
    """Waits for the first replay of a graph that is being captured now. around() says what prepare() is."""

    def __init__(self, torch, prepare):
        self._class, self._bare = torch.cuda.CUDAGraph, torch.cuda.CUDAGraph.replay
        self._graph = weakref.ref(_under_way[-1])
        self._prepare = prepare
        self._class.replay = wrapper(self._bare, self._replayed)

    def _replayed(self, args, kwargs):
        if not args or args[0] is not self._graph():
            return args, kwargs, None, None
        self.is_awaited_no_more()
        return (args, kwargs) + self._prepare()

    def is_awaited_no_more(self):
        self._class.replay = self._bare


def _wrap(graph):
    graph.capture_begin = wrapper(graph.capture_begin, _begin)
    graph.capture_end = wrapper(graph.capture_end, _end)


def _begin(args, kwargs):
    _under_way.append(args[0])  # from now on nobody begins to ask
    if _asking.acquire(True, _LONGEST_WAIT):
        _asking.release()
    return args, kwargs, None, _ended


def _end(args, kwargs):
    return args, kwargs, _ended, _ended


def _ended(_):
    if _under_way:
        _under_way.pop()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
