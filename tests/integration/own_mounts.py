"""Mounts of the test's own: what it mounts, and what it does in /dev/shm, is seen by nobody else."""

import ctypes
import os
import subprocess
import time
import unittest

HOUR = 3600


def own_mounts():
    """Gives this process, and all it starts, a mount namespace. False where that is not allowed."""
    new_mounts, private = 0x00020000, 0x40000 | 0x4000
    libc = ctypes.CDLL(None)
    return libc.unshare(new_mounts) == 0 and libc.mount(b"none", b"/", None, private, None) == 0


def own_shared_memory():
    """An empty /dev/shm for a whole file of tests, which is skipped where there can be none."""
    if not own_mounts():
        raise unittest.SkipTest("a /dev/shm of our own needs the right to mount")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8g,mode=1777", "none", "/dev/shm"], check=True)


def old_file(path, owner=-1):
    """A file that was written an hour ago."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * 65536)
    os.chown(path, owner, -1)
    past = time.time() - HOUR
    os.utime(path, (past, past))
    return path
