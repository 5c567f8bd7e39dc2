"""The program's wait for the Work of the first collective: where it raises, nothing else need tell of it.

It is the program's own thread that learns of the end, before its next collective.
"""
import sys

from .patching import wrapper

_watched = []  # the Work and Work.wait as it was; at most one


def watch(work, failed, returned=None):
    """Calls failed(error) when the program's wait for this Work raises, and returned(work) when it returns."""
    leave()
    if work is None:
        return
    works = sys.modules["torch._C._distributed_c10d"].Work
    bare = vars(works)["wait"]  # the function alone does not bind

    def raised(error):
        leave()
        failed(error)

    def over(result):
        if returned is not None:
            returned(work)

    def prepare(args, kwargs):
        return (args, kwargs, over, raised) if args and args[0] is work else (args, kwargs, None, None)

    _watched.append((works, bare))
    works.wait = wrapper(works.wait, prepare)


def leave():
    try:
        works, bare = _watched.pop()
    except IndexError:
        return
    works.wait = bare
