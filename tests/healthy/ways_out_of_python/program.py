"""atexit, os._exit, abort, an exception of a thread, words as a status, a fork whose child ends in its own way."""
INSIDE = True
CUDA = "it has no torch"


def command(bench):
    return bench.around(r'''
$SL python -c 'import atexit, sys; atexit.register(print, "at the end"); sys.exit(3)'; echo $?
$SL python -c 'import atexit, os; atexit.register(print, "never"); os._exit(4)'; echo $?
$SL python -c 'import os; os.abort()' 2>/dev/null; echo $?
$SL python -c 'import sys; sys.exit("words")' 2>/dev/null; echo $?
$SL python -c 'import threading
thread = threading.Thread(target=lambda: 1 / 0); thread.start(); thread.join(); print("on")' 2>/dev/null; echo $?
$SL python -c 'import os; pid = os.fork(); pid or os._exit(9); print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))'; echo $?
$SL python -c 'import threading, time
threading.Thread(target=time.sleep, args=(1000,), daemon=True).start(); print("a daemon thread sleeps")'; echo $?
$SL python -X faulthandler -c 'import ctypes; ctypes.string_at(0)' 2>/dev/null; echo $?
''')
