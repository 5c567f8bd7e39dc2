"""Calls a function at the end of a module's import. Taken away when nothing is awaited any more."""
import sys

from . import channel


class _Watch:
    """A finder that finds nothing itself: it lets the others find, and wraps the loader's last step."""

    def __init__(self):
        self.awaited = {}

    def find_spec(self, name, path=None, target=None):
        action = self.awaited.pop(name, None)
        if action is None:
            return None
        if not self.awaited:
            sys.meta_path.remove(self)
        spec = _find(name, path, target, self)
        try:
            _act_after(spec.loader, action)
        except Exception as error:  # no loader, or one that takes no attribute: no event
            channel.fault("import of " + name, error)
        return spec


_watch = _Watch()


def when_imported(name, action):
    """Calls action() once `name` is imported. Nobody can have imported it before the interpreter's
    start has called us."""
    _watch.awaited[name] = action
    if _watch not in sys.meta_path:
        sys.meta_path.insert(0, _watch)


def _find(name, path, target, but):
    for finder in list(sys.meta_path):
        find = getattr(finder, "find_spec", None)
        spec = find(name, path, target) if find and finder is not but else None
        if spec is not None:
            return spec
    return None


def _act_after(loader, action):
    original = loader.exec_module

    def exec_module(module):
        del loader.exec_module  # the loader is as it was: programs look at it
        original(module)
        try:
            action()
        except Exception as error:
            channel.fault("after import", error)

    loader.exec_module = exec_module
