"""What the kernel says of a thread that sleeps: on what, and whether it has run since it was last looked at.

A thread of Python's is known to the kernel by another number than to Python; Python tells it from 3.8 on.
"""
import os
import sys

from .answers import main_thread


def kernels_number(ident):
    """None: nobody knows it."""
    if ident == main_thread:
        return os.getpid()
    thread = getattr(sys.modules.get("threading"), "_active", {}).get(ident)
    return getattr(thread, "native_id", None)


def first_argument(number):
    """The first argument of the system call in which the thread sleeps: a descriptor, an address, or None."""
    words = read("/proc/self/task/%s/syscall" % number).split()
    try:
        return int(words[1], 16)
    except (IndexError, ValueError):  # it runs
        return None


def times_run(number):
    """How often the thread has been given up and taken up again; "" where the kernel does not say."""
    lines = read("/proc/self/task/%s/status" % number).splitlines()
    return " ".join(line for line in lines if "ctxt_switches" in line)


def read(path):
    try:
        with open(path, "rb") as file:  # as text it would warn of the encoding under -X warn_default_encoding
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""
