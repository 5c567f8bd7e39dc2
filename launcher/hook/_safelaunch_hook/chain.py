"""Runs the sitecustomize that ours stands in front of, so that no user misses their own.

A Python 2 comes here too, if a command starts one.
"""
import os
import sys


def run_next(ours):
    """Runs the next sitecustomize under its own name. Its exceptions go to Python, as if
    the hook were not there."""
    path = _without_hooks(ours)
    if sys.version_info < (3, 6):
        _run_by_imp(path)
    else:
        _run(path)


def _without_hooks(ours):
    """sys.path without the hook's directories: ours, and those of a safelaunch around us. Every one
    is remembered, since two of them that each looked for "the other one" would never end."""
    seen = sys.__dict__.setdefault("_safelaunch_directories", set())
    seen.add(os.path.dirname(os.path.abspath(ours)))
    return [entry for entry in sys.path if os.path.abspath(entry) not in seen]


def _run(path):
    # Python's own names for importlib, which are loaded already; importlib.util would cost 8 ms.
    from _frozen_importlib import module_from_spec
    from _frozen_importlib_external import PathFinder

    ran = _sites_that_ran()
    for entry in path:
        spec = PathFinder.find_spec("sitecustomize", [entry])
        if spec is None or spec.loader is None or spec.origin in ran:
            continue
        ran.add(spec.origin)
        module = module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        return spec.loader.exec_module(module)


def _sites_that_ran():
    """The files that run already. A tracer's sitecustomize (ddtrace-run) runs the next one too, by
    the whole of sys.path: in front of ours it is the one that has called us, and behind us it
    would find us again."""
    ran = sys.__dict__.setdefault("_safelaunch_sites", set())
    caller = getattr(sys.modules.get("sitecustomize"), "__file__", None)
    if caller is not None:
        ran.add(caller)
    return ran


def _run_by_imp(path):
    import imp

    try:
        found = imp.find_module("sitecustomize", path)
    except ImportError:
        return
    imp.load_module("sitecustomize", *found)
