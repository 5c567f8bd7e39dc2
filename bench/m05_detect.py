"""M5, from a fault in the start to the moment when it is known: a rank dies, stops, or never comes."""

import statistics

from figures import alone, compare, in_turns
from light_job import spoilt_by, spoilt_under_torchrun

QUIET = 10.0  # seconds; the deadline for a rank that nothing will wake
GLOO_TIMEOUT = 1800.0  # torch 2.13 gives up by itself after this, in gloo; NCCL after 600 s


def _death(bench):
    def ours():
        job = spoilt_by(bench, "die", "--only")
        return (job.others_asked_to_end - job.fault) * 1e3

    words = dict(figure="M5", what="a rank dies: until the others are asked to end")
    if not bench.torch_python:
        values = [ours() for _ in range(bench.pairs)]
        return alone(values, statistics.median(values) <= 5, unit="ms", goal="<= 5 ms", **words)

    def theirs():
        job = spoilt_under_torchrun(bench, "die", 60)
        return (job.others_asked_to_end - job.fault) * 1e3

    turns = in_turns(bench.pairs, {"safelaunch": ours, "torchrun": theirs})
    row = compare(turns, "safelaunch", "torchrun", unit="ms", goal="<= 5 ms", limit=1.0, **words)
    row.met = row.ours <= 5
    return row


def _silent(bench, fault, what, goal, limit, *options):
    """Against torch's own timeout, which is a constant: nobody has to sit through it."""
    values = []
    for _ in range(max(3, bench.pairs // 3)):
        job = spoilt_by(bench, fault, "--only", *options)
        values.append(job.event("verdict") - job.fault)
    row = alone(values, statistics.median(values) <= limit, figure="M5", what=what, unit="s", goal=goal)
    row.peer, row.peers = "torch's own timeout (gloo)", GLOO_TIMEOUT
    row.ratio, row.ratio_p95 = row.ours / GLOO_TIMEOUT, row.ours_p95 / GLOO_TIMEOUT
    return row


def _torchrun_says_nothing(bench, fault, what):
    """torchrun itself watches no start: how long it was seen to say and do nothing."""
    job = spoilt_under_torchrun(bench, fault, bench.seconds)
    return alone([bench.seconds], True, figure="M5", what=f"torchrun, {what}: {'silent' if job.gave_up else 'ended'} after",
                 unit="s", goal="(for comparison)")


def measure(bench):
    rows = [
        _death(bench),
        _silent(bench, "stop", "a rank is stopped: until the verdict", "<= 1 s", 1.0),
        _silent(bench, "absent", f"a rank never comes: until the verdict, quiet deadline {QUIET:.0f} s", "<= 1 s after the deadline",
                QUIET + 1, "--quiet-timeout", f"{QUIET:.0f}s"),
    ]
    if bench.torch_python:
        rows.append(_torchrun_says_nothing(bench, "absent", "a rank never comes"))
    return rows
