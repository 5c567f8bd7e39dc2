"""The folder where DeepSpeed keeps what it compiles: kept between runs, because the first takes a minute.

A compile that is killed, as by a test's timeout, leaves torch's `lock` file there, for which every later one
waits without end. Whoever compiles holds that file open; what nobody holds goes.
"""
import glob
import os
import pathlib
import sys
import tempfile
import zlib


def _open_files():
    found = set()
    for link in glob.iglob("/proc/[0-9]*/fd/*"):
        try:
            found.add(os.readlink(link))
        except OSError:
            pass  # another user's, or it has just been closed
    return found


def kept_extensions(python=sys.executable):
    """The folder for all tests with this Python: another torch would compile everything again."""
    cache, whose = os.environ.get("SAFELAUNCH_TEST_CACHE", tempfile.gettempdir()), zlib.crc32(python.encode())
    return without_stale_locks(pathlib.Path(cache, f"safelaunch-test-torch-extensions-{os.getuid()}-{whose:08x}"))


def without_stale_locks(folder):
    """The folder's path; it is made where it is missing."""
    folder = pathlib.Path(folder).resolve()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    locks = {str(path) for path in folder.rglob("lock")}
    if locks:
        for stale in locks - _open_files():
            pathlib.Path(stale).unlink(missing_ok=True)
    return str(folder)
