"""Asks nothing about a GPU while the program captures a CUDA graph.

Such a question (cudaEventQuery) makes a capture in the mode "global", which is torch's default, fail, from
whichever thread it comes.
"""
from . import native
from .patching import quietly, wrapper

_LONGEST_WAIT = 5  # seconds for which a question that is stuck inside torch delays a capture
_asking = native.allocate_lock()
_under_way = []  # an entry for each capture
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
    with _asking:
        return None if _under_way else question()


def _wrap(graph):
    graph.capture_begin = wrapper(graph.capture_begin, _begin)
    graph.capture_end = wrapper(graph.capture_end, _end)


def _begin(args, kwargs):
    _under_way.append(True)  # from now on nobody begins to ask
    if _asking.acquire(True, _LONGEST_WAIT):
        _asking.release()
    return args, kwargs, None, _ended


def _end(args, kwargs):
    return args, kwargs, _ended, _ended


def _ended(_):
    if _under_way:
        _under_way.pop()
