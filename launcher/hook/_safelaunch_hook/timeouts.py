"""SAFELAUNCH_PG_TIMEOUT: the timeout that people hoped NCCL_TIMEOUT would set.

It counts if the program chose none. DeepSpeed and accelerate pass torch's own default along as if it
were a choice, so a value that equals a default is no choice either.
"""
import os

_DEFAULTS = (300, 600, 1800)  # seconds: TCPStore and JAX, NCCL, every other backend


def seconds():
    """The profile's timeout, or None."""
    try:
        value = float(os.environ.get("SAFELAUNCH_PG_TIMEOUT", ""))
    except ValueError:
        return None
    return value if value > 0 else None


def rewrite(arguments):
    """Sets a call's `timeout`, where there is one to set."""
    from datetime import timedelta

    ours, chosen = seconds(), arguments.get("timeout")
    if ours is not None and (chosen is None or chosen.total_seconds() in _DEFAULTS):
        arguments["timeout"] = timedelta(seconds=ours)
