"""Door one of safelaunch's hook: Python imports this module when it starts.

Short, because it is the one file that Python compiles anew wherever compiled files are forbidden.
"""
import sys

# The second door is needed where this file is not run, and nobody else is to see a package there.
_door = __file__.rpartition("/")[0] + "/torch_door"
sys.path[:] = [entry for entry in sys.path if entry != _door]
_forbidden, sys.dont_write_bytecode = sys.dont_write_bytecode, False  # in our own directory they are not
try:
    import _safelaunch_hook
    from _safelaunch_hook import chain

    _safelaunch_hook.start()
except Exception:  # a worker without a hook is a normal state; a broken interpreter is not
    pass
sys.dont_write_bytecode = _forbidden
if "chain" in globals():
    chain.run_next(__file__)
