"""Calls functions where a module's import begins and where it has ended."""
import _thread
import sys

from . import channel
from .like_importlib_bootstrap import around, leave_no_trace


class _Watch:
    """A finder that finds nothing itself: it lets the other finders look, and wraps the loader's last step.

    A name is awaited until it has been imported. Finding is not enough: programs look whether torch is
    there, and an import may fail and be tried again. The finder stays when nothing is
    awaited any more, since another thread may be on its way through sys.meta_path.
    """

    def __init__(self):
        self.awaited = {}  # name: (begins, ended)
        self._finding = set()  # (thread, name): other finders may ask for a name all over again

    def find_spec(self, name, path=None, target=None):
        finding = (_thread.get_ident(), name)
        if name not in self.awaited or finding in self._finding:
            return None
        self._finding.add(finding)
        try:
            spec = _find(name, path, target, self)
        except BaseException as error:
            leave_no_trace(error)
            raise
        finally:
            self._finding.discard(finding)
        if spec is not None:
            _quietly("import of " + name, self._wrap, spec.loader)
        return spec

    def _wrap(self, loader):
        if "exec_module" in vars(loader):  # wrapped already: the modules of an archive share a loader
            return

        def prepare(args, kwargs):
            name = getattr(args[0] if args else kwargs.get("module"), "__name__", None)
            begins, ended = self.awaited.get(name, (None, None))
            if ended is None:
                return args, kwargs, None, None
            vars(loader).pop("exec_module", None)  # the loader is as it was: programs look at it
            if begins is not None:
                _quietly("before import", begins)

            def returned(_):
                if name in sys.modules and self.awaited.pop(name, None):
                    _quietly("after import", ended)

            return args, kwargs, returned, None

        loader.exec_module = around(loader.exec_module, prepare)


_watch = _Watch()


def watch(name, ended, begins=None):
    """Calls begins() before the module's code runs, each time that it is tried, and ended() once it has
    run. No program can have imported it before, because the interpreter's start calls us first."""
    _watch.awaited[name] = (begins, ended)
    if _watch not in sys.meta_path:
        sys.meta_path.insert(0, _watch)


def _find(name, path, target, but):
    for finder in list(sys.meta_path):
        find = getattr(finder, "find_spec", None)
        spec = find(name, path, target) if find and finder is not but else None
        if spec is not None:
            return spec
    return None


def _quietly(where, step, *arguments):
    try:
        step(*arguments)
    except Exception as error:  # a loader that takes no attribute, say: no event
        channel.fault(where, error)
