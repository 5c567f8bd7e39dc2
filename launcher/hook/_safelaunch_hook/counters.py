"""torch's own counters, read inside the process: 15 microseconds each, and no server.

The flight recorder counts the collectives of each group, and keeps the last of them; the wait
counters say in which of the store's operations a thread waits in C++. Messages (send, recv) and the
making of groups are in neither; a thread that still is in such a call shows them.
"""
import json
import sys

from . import captures, ending, groups, servers, serving, standing
from .like_importlib_bootstrap import without_ours

_LAST_OF_A_GROUP = 4  # collectives
_LAST_OF_ALL = 64
_MOST_MEMBERS = 4096  # of all groups together, so that the packet stays one
_MOST_GROUPS = 64
_MOST_MEMBERS_AT_THE_END = 1024
# An exception that one of these files has raised ended one of these collectives; in torch's own calls, that of their name.
_INSIDE = ("torch/autograd/graph.py", "torch/distributed/fsdp/", "torch/distributed/_functional_collectives.py", "torch/_ops.py")
_OF_TRAINING = ("all_reduce", "reduce_scatter", "all_gather", "broadcast")
# A CUDA build has two. A group may have both backends, each with its own numbers from 1 on.
_RECORDERS = (("_dump_fr_trace_json", ""), ("_dump_nccl_trace_json", " (nccl)"))
# A group is made once all of its ranks have come.
_MEETING = {"init_process_group", "_new_process_group_helper", "_store_based_barrier", "new_group", "_new_group_with_tag",
            *servers.MEET}
_OPENING = ("TCPStore__init", "TCPStore__waitForWorkers")
_told = {}  # the groups of the last answer
_question = None


def start():
    """Asks once, because waits are counted from the first question on."""
    read()


def read():
    """Reads {"groups": {name: {"enqueued", "started", "completed"}}, "waits": {name: active}, "uncounted": what
    it does that is not counted}; empty without torch."""
    library = sys.modules.get("torch._C._distributed_c10d")
    if library is None:
        return {"groups": {}, "waits": {}}
    waits = _waits_if_counted(library)
    return {"groups": _held(_groups(library)), "waits": waits, "uncounted": _uncounted(waits)}


def _held(groups):
    """gloo counts a collective that has failed among the completed: where an exception ends the process, what was told before
    of a group holds until another one begins in it."""
    global _told
    for name, before in _told.items() if ending.failed() else ():
        if groups.get(name, {}).get("enqueued") == before["enqueued"]:
            groups[name] = before
    _told = groups
    return groups


def _uncounted(waits):
    stands_in, came_to = (of_torch + past_it for of_torch, past_it in zip(standing.calls(), servers.calls()))
    if not _MEETING.isdisjoint(came_to):
        return "comes"
    if not _MEETING.isdisjoint(stands_in) or any(waits.get(name) for name in _OPENING):
        return "meets"
    # A server may have a thread that receives.
    return "serves" if serving.waits_for_a_request() else "stands" if stands_in else ""


def finished():
    """How many collectives of all groups are finished."""
    library = sys.modules["torch._C._distributed_c10d"]
    return sum(max(0, counts["completed"]) for counts in _groups(library).values())


def _groups(library):
    groups = {}
    for backend, recorded in _recorded(library, includeCollectives=False):
        for group, counts in recorded.get("pg_status", {}).items():
            groups[group + backend] = {
                name: int(counts["last_%s_collective" % name]) for name in ("enqueued", "started", "completed")
            }
    return groups


def _recorded(library, **wanted):
    for name, backend in _RECORDERS:
        dump = getattr(library, name, None)
        if dump is not None:
            yield backend, json.loads(dump(onlyActive=False, **wanted))


def collectives(most_members=_MOST_MEMBERS):
    """{"last": [[group, number, operation, state], …], "members": {group: ranks}}, the newest last; a
    collective's number is the same on all ranks of its group. Ask a rank that hangs, and only once:
    reading the whole recorder takes 30 milliseconds, and on a GPU looks at its events. While the program
    captures a CUDA graph there is no answer but an empty one."""
    last = _last_of_each_group([_entry(*one) for one in recorded()])
    return {"last": last, "members": _members({entry[0] for entry in last}, most_members)}


def at_the_end(error):
    """{"groups"} as read() has them, and of gloo what collectives() has: where this exception ends the process. gloo
    counts a collective that has failed among the completed; the last one is not, where the exception shows that it has failed."""
    from . import exceptions

    told = {"groups": dict(list(read()["groups"].items())[:_MOST_GROUPS])}
    error = next((one for one in exceptions.chain(error) if "gloo/" in str(one)), None)
    if error is None:
        return told
    told.update(collectives(_MOST_MEMBERS_AT_THE_END))
    of_gloo = [entry for entry in told["last"] if not entry[0].endswith(_RECORDERS[1][1])]
    if of_gloo and all(entry[3] == "finished" for entry in of_gloo) and _ended(error, of_gloo[-1][2]):
        of_gloo[-1][3] = "started"
    return told


def _ended(error, operation):
    """Whether the exception was raised by a collective of this operation, as the recorder names it."""
    import traceback

    frames = traceback.extract_tb(error.__traceback__)  # none where it was never raised
    if frames and frames[-1].filename.endswith(standing.CALLS):
        return frames[-1].name in [operation + more for more in ("", "_into_tensor", "_tensor", "_single")]
    return operation in _OF_TRAINING and any(file in frame.filename for frame in frames[-1:] for file in _INSIDE)


def recorded():
    """The collectives in the flight recorder, the newest last: (group, number, all that it keeps of it)."""
    library = sys.modules.get("torch._C._distributed_c10d")
    if library is None:
        return []
    backends = captures.ask(lambda: list(_recorded(library, includeCollectives=True))) or []
    return [(one["process_group"][0] + backend, one["collective_seq_id"], one)
            for backend, kept in backends for one in kept.get("entries", []) if not one.get("is_p2p")]


def _entry(group, number, one):
    finished = one.get("retired") or one.get("state") == "completed"
    operation = one["profiling_name"].rpartition(":")[2]  # without the backend
    state = "finished" if finished else "started" if one.get("state") == "started" else "enqueued"
    return [group, number, operation, state]


def _last_of_each_group(entries):
    kept, of_group = [], {}
    for entry in reversed(entries):
        of_group[entry[0]] = of_group.get(entry[0], 0) + 1
        if of_group[entry[0]] <= _LAST_OF_A_GROUP and len(kept) < _LAST_OF_ALL:
            kept.append(entry)
    return kept[::-1]


def _members(names, room):
    """The global ranks of the groups with those names."""
    c10d = sys.modules.get("torch.distributed.distributed_c10d")
    world = getattr(c10d, "_world", None)
    members = {}
    for group, ranks in list(getattr(world, "pg_group_ranks", {}).items()):
        for backend in {backend for _, backend in _RECORDERS}:
            name = str(world.pg_names.get(group)) + backend
            if name in names and len(ranks) <= room:
                members[name] = groups.members(group)
                room -= len(ranks)
    return members


def _waits_if_counted(library):
    """Reads the waits where torch counts them. torch 2.6 has handlers but not this one, and raises."""
    try:
        return _waits(library) if hasattr(library, "_get_handler") else {}
    except Exception:
        return {}


def _waits(library):
    global _question
    _question = _question or _make_question(library)
    request, response = _question
    library._get_handler("wait_counter_values")(request, response)
    prefix = "pytorch.wait_counter."
    return {
        (name[len(prefix):] if name.startswith(prefix) else name): counter["active_count"]
        for name, counter in json.loads(response.content).items()
    }


def _make_question(library):
    """The handlers are made for torch's debug server; these two stand in for its connection."""

    class Request(library._Request):
        def body(self):
            return b""

        def params(self):
            return {}

        def get_param(self, name):
            return ""

    class Response(library._Response):
        content = "{}"

        def set_content(self, content, content_type):
            self.content = content

        def set_status(self, status):
            pass

    return Request(), Response()
