"""The calls of torch.distributed in which a thread is as it was when this was asked before.

Messages and the making of groups are in no counter of torch's. Nor is the wait for the Work of an isend or irecv, a method in C++
of which Python shows the caller alone: there a thread stands that has not run since.
"""
import sys

from . import sleeping

CALLS = "torch/distributed/distributed_c10d.py"
_PICKLING = ("_object_to_tensor", "_tensor_to_object")  # it works there, for minutes if need be
_BELOW_A_CALL = 8  # frames: the rendezvous, and its store
_WAIT = "wait"  # of Work
_OURS = "/_safelaunch_hook/like_importlib_bootstrap.py"
_ANY_PROCESS, _MOST_PROCESSES = 0xFFFFFFFF, 1 << 22  # first arguments of waitpid
_before = {}  # thread → where it waited at the last question, and how often it had run


def calls():
    """The names of those functions, each as often as a thread is in it; and of those to which threads have come since."""
    found, came, waits = [], [], {}
    for ident, frame in sys._current_frames().items():
        call = _call_of(frame)
        if call is None:
            waits.update(_wait_of(ident, frame))
        elif call.f_code.co_name not in _PICKLING:
            # A frame that was seen is marked by its f_trace_lines, which only a tracer would read: to keep the
            # frame would keep its tensors.
            (came if call.f_trace_lines else found).append(call.f_code.co_name)
            call.f_trace_lines = False
    found += [_WAIT for ident, place in waits.items() if _before.get(ident) == place]
    _before.clear()
    _before.update(waits)
    return found, came


def _call_of(frame):
    """The innermost frame of torch.distributed's calls, unless it has gone on to something else."""
    for _ in range(_BELOW_A_CALL):
        if frame is None or frame.f_code.co_filename.endswith(CALLS):
            return frame
        frame = frame.f_back
    return None


def _wait_of(ident, frame):
    if frame.f_code.co_filename.endswith(_OURS) and frame.f_back is not None:  # waits.py, around the first of all
        frame = frame.f_back
    if _WAIT not in frame.f_code.co_names:
        return {}
    number = sleeping.kernels_number(ident)
    times, address = sleeping.times_run(number), sleeping.first_argument(number)
    # os.wait() sleeps on a process, a Work on an address in memory.
    if not times or address is None or address == _ANY_PROCESS or address <= _MOST_PROCESSES or not _calls_wait(frame):
        return {}
    return {ident: (id(frame), frame.f_lasti, times)}


def _calls_wait(frame):
    """Whether the frame is at a call of a method of this name, and not in one of its statements before."""
    import dis  # torch has imported it

    names = set()
    for step in dis.get_instructions(frame.f_code):
        if step.offset > frame.f_lasti:
            break
        if step.opname.startswith(("STORE_", "POP_TOP")):
            names.clear()
        elif step.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            names.add(step.argval)
    return _WAIT in names
