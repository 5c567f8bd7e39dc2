"""What a healthy program did bare and what it did under safelaunch: they must be the same, and nothing may be said of it."""

import collections
import json
import re

# safelaunch may tell what it sees; these words tell of a hang, a death, or a fault of its hook.
ALARM = re.compile(r"^safelaunch: (hung|stalled|failed|worked|retrying|.*\b(hung|hangs|missing|died|cause:|remedy:|relaunch|stopped:|killed)\b)|File \"[^\"]*_safelaunch_hook")
ALARMS = ("verdict", "cause", "stall", "hook_error")


def events_of(directory):
    try:
        return [json.loads(line) for line in (directory / "events.jsonl").read_text().splitlines()]
    except OSError:
        return []


def waited(events):
    """How long ranks waited for others before the job trained: where that is shorter than the deadlines, the run proved little."""
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


def false_alarms(err, events):
    """What safelaunch said of a program of which there is nothing to say."""
    said = [f"{event['e']}: {event.get('text') or event.get('error') or json.dumps(event)}" for event in events if event["e"] in ALARMS]
    attempts = sum(event["e"] == "attempt" for event in events)
    return (said + [line for line in err.splitlines() if not said and ALARM.search(line)][:3]
            + ([f"{attempts} attempts"] if attempts > 1 else []))


def differences(bare, ours):
    """`bare` and `ours`: status, out and err of the two runs; `ours` has its events too."""
    status = [] if bare["status"] == ours["status"] else [f"status {ours['status']} instead of {bare['status']}"]
    return status + differences_in_output(bare["out"], ours["out"]) + false_alarms(ours["err"], ours["events"])
