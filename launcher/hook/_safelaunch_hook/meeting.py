"""Where the ranks of a world meet: the address of its store, or the file; "" where it cannot be told.

Two processes meet only where they name the same place, so safelaunch knows worlds apart by it.
"""
import os

_MEET_NOBODY = ("FakeStore", "HashStore")  # they live in the memory of one process


def is_alone(arguments):
    """True for a world of which this process is the only one, however many ranks it is said to have: torch's fake
    backend, and stores that no other process can reach."""
    backend, store = arguments.get("backend"), arguments.get("store")
    return str(backend or "").lower() == "fake" or type(_innermost(store)).__name__ in _MEET_NOBODY


def place(arguments):
    try:
        store = arguments.get("store")
        return _place_of(_innermost(store)) if store is not None else _place_named(arguments.get("init_method") or "env://")
    except Exception:  # the program's own kind of store, or a URL that torch will refuse
        return ""


def _innermost(store):
    while type(store).__name__ == "PrefixStore" and hasattr(store, "underlying_store"):
        store = store.underlying_store
    return store


def _place_of(store):
    kind = type(store).__name__
    if kind == "TCPStore":
        return "%s:%d" % (store.host, store.port)
    return "file:" + os.path.abspath(store.path) if kind == "FileStore" else ""


def _place_named(url):
    from urllib.parse import unquote, urlparse  # torch has imported it

    parts = urlparse(url)
    if parts.scheme == "file":
        return "file:" + os.path.abspath(unquote(parts.path))
    if parts.scheme == "tcp":
        return "%s:%d" % (parts.hostname, parts.port)
    return "%s:%d" % (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
