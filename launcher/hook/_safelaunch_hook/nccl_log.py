"""NCCL's log, where this process may not write it any more.

A rank that gives up root cannot open a file in the run's directory, and NCCL then writes to the job's
stdout. Only the C library's environment loses the variables: it is the one that NCCL reads.
"""
import os

_NAME = "/nccl.%h.%p"
_FORMAT = "[%F %T.%6f] "  # with this name the variables are safelaunch's, and not the user's own
_VARIABLES = ("NCCL_DEBUG", "NCCL_DEBUG_FILE", "NCCL_DEBUG_SUBSYS", "NCCL_DEBUG_TIMESTAMP_LEVELS", "NCCL_DEBUG_TIMESTAMP_FORMAT")


def do_without_where_it_cannot_be_written():
    """Call it before NCCL reads its variables, which it does once."""
    file = os.environ.get("NCCL_DEBUG_FILE", "")
    if not file.endswith(_NAME) or os.environ.get("NCCL_DEBUG_TIMESTAMP_FORMAT") != _FORMAT:
        return
    folder = file[:-len(_NAME)].replace("%%", "%")
    if not os.access(folder, os.W_OK | os.X_OK, effective_ids=True):
        for name in _VARIABLES:
            os.unsetenv(name)
