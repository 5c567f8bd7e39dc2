"""M5, from a fault in the start to the moment when it is known: a rank dies, stops, or never comes."""

import functools
import statistics

from figures import alone, compare, in_turns
from light_job import WORKERS, spoilt_by, spoilt_under

QUIET = 10.0  # seconds; the deadline for a rank that nothing will wake
GLOO_TIMEOUT = 1800.0  # torch 2.13 gives up by itself after this, in gloo; NCCL after 600 s


def _death(bench):
    def ours():
        job = spoilt_by(bench, "die", "--only")
        return (job.others_asked_to_end - job.fault) * 1e3

    words = dict(figure="M5", what="a rank dies: until the others are asked to end")
    peers = list(bench.elastic(WORKERS))
    if not peers:
        values = [ours() for _ in range(bench.pairs)]
        return [alone(values, statistics.median(values) <= 5, unit="ms", goal="<= 5 ms", **words)]

    def theirs(peer):
        job = spoilt_under(peer, bench, "die", 60)
        return (job.others_asked_to_end - job.fault) * 1e3

    turns = in_turns(bench.pairs, {"safelaunch": ours, **{peer: functools.partial(theirs, peer) for peer in peers}})
    rows = [compare(turns, "safelaunch", peer, unit="ms", goal="<= 5 ms", limit=1.0, **words) for peer in peers]
    for row in rows:
        row.met = row.ours <= 5
    return rows


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


def _says_nothing(peer, bench, fault, what):
    """torchrun itself watches no start, NVRx none whose script does not ask for it: how long it was seen to say and do nothing."""
    job = spoilt_under(peer, bench, fault, bench.seconds)
    return alone([bench.seconds], True, figure="M5", what=f"{peer}, {what}: {'silent' if job.gave_up else 'ended'} after",
                 unit="s", goal="(for comparison)")


def measure(bench):
    return [
        *_death(bench),
        _silent(bench, "stop", "a rank is stopped: until the verdict", "<= 1 s", 1.0),
        _silent(bench, "absent", f"a rank never comes: until the verdict, quiet deadline {QUIET:.0f} s", "<= 1 s after the deadline",
                QUIET + 1, "--quiet-timeout", f"{QUIET:.0f}s"),
        *(_says_nothing(peer, bench, "absent", "a rank never comes") for peer in bench.elastic(WORKERS)),
    ]
