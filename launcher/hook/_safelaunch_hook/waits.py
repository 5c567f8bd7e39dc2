"""The program's wait for the Work of the first collective: where it raises, nothing else need tell of it.

It is the program's own thread that learns of the failure, before its next collective.
"""
import sys

from .patching import wrapper

_watched = []  # the Work and Work.wait as it was; at most one


def watch(work, failed):
    """Calls failed(error) when the program's wait for this Work raises."""
    leave()
    if work is None:
        return
    works = sys.modules["torch._C._distributed_c10d"].Work
    bare = vars(works)["wait"]  # the function alone does not bind

    def raised(error):
        leave()
        failed(error)

    def prepare(args, kwargs):
        return args, kwargs, None, raised if args and args[0] is work else None

    _watched.append((works, bare))
    works.wait = wrapper(works.wait, prepare)


def leave():
    while _watched:
        works, bare = _watched.pop()
        works.wait = bare
