"""What a healthy program did bare and what it did under safelaunch: they must be the same, and nothing may be said of it."""

import collections
import json
import re

# safelaunch may tell what it sees; these words tell of a hang, a death, or a fault of its hook.
ALARM = re.compile(r"^safelaunch: (hung|stalled|failed|worked|retrying|.*\b(hung|hangs|missing|died|cause:|remedy:|relaunch|stopped:|killed)\b)|File \"[^\"]*_safelaunch_hook")
ALARMS = ("verdict", "cause", "stall", "hook_error")
# A program that ends with another status than 0 has a cause. Whether it should end so is seen from its status.
ALARMS_OF_A_FAILURE = ("verdict", "stall", "hook_error")


def runs_of(directories):
    """The events of each run that has left a record."""
    return [events for events in map(events_of, directories) if events]


def events_of(directory):
    try:
        return [json.loads(line) for line in (directory / "events.jsonl").read_text().splitlines()]
    except OSError:
        return []


def waited(runs):
    """How long ranks waited for others before the job trained: where that is shorter than the deadlines, the run proved little."""
    return max(map(waited_in, runs), default=0.0)


def waited_in(events):
    began = next((event["t"] for event in events if event["e"] == "status" and "waiting for" in event["text"]), None)
    ended = next((event["t"] for event in events if event["e"] == "training"), None)
    return ended - began if began is not None and ended is not None else 0.0


def some(lines):
    return ", ".join(repr(line) for line in list(lines)[:2]) + (f" and {len(lines) - 2} more" if len(lines) > 2 else "")


def differences_in_output(bare, ours):
    """Lines as a multiset: the order of the ranks' lines is nobody's promise."""
    bare, ours = (collections.Counter(out.splitlines(keepends=True)) for out in (bare, ours))
    missing, new = list((bare - ours).elements()), list((ours - bare).elements())
    return ([f"stdout lacks {some(missing)}"] if missing else []) + ([f"stdout has {some(new)} more"] if new else [])


def said_in(events):
    failed = any(event["e"] == "end" and event["exit_status"] != 0 for event in events)
    alarms = ALARMS_OF_A_FAILURE if failed else ALARMS
    attempts = sum(event["e"] == "attempt" for event in events)
    return ([f"{event['e']}: {event.get('text') or event.get('error') or json.dumps(event)}" for event in events if event["e"] in alarms]
            + ([f"{attempts} attempts"] if attempts > 1 else []))


def false_alarms(err, runs):
    """What safelaunch said of a program of which there is nothing to say. A script may have started several runs."""
    said = [words for events in runs for words in said_in(events)]
    return said or [line for line in err.splitlines() if ALARM.search(line)][:3]


def differences(bare, ours):
    """`bare` and `ours`: status, out and err of the two runs, and at a terminal its modes; `ours` has the events of its runs too."""
    status = [] if bare["status"] == ours["status"] else [f"status {ours['status']} instead of {bare['status']}"]
    modes = [] if bare.get("modes") == ours.get("modes") else [f"the terminal's modes are {ours['modes']}, and bare {bare['modes']}"]
    return status + modes + differences_in_output(bare["out"], ours["out"]) + false_alarms(ours["err"], ours["runs"])
