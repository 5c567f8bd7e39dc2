"""Python's own threads, locks and sleep, taken before the program runs.

gevent and eventlet put theirs in the same places. A "thread" of ours would then be a greenlet in the
program's main thread, and our wait for a question would stop the program.
"""
import _thread
import os
import time

allocate_lock = _thread.allocate_lock
get_ident = _thread.get_ident
RLock = _thread.RLock
sleep = time.sleep
start_new_thread = _thread.start_new_thread
_thread_number = getattr(_thread, "get_native_id", None)  # Python 3.8


def has_threads():
    """False if the program had replaced them before the hook came (by torch's door)."""
    return isinstance(start_new_thread, type(len))


def in_main_thread():
    return _thread_number is not None and _thread_number() == os.getpid()
