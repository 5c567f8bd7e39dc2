"""The first call that meets the others, of every kind: healthy, without rank 1, and with it stopped inside.

The job is tests/cuda/jobs/first_call.py.
"""

import re

from gpu_harness import TESTS
from row import SHORT, Row, Said, healthy, named, spawned

JOB = TESTS / "cuda/jobs/first_call.py"
KINDS = re.findall(r"^@kind\ndef (\w+)", JOB.read_text(), re.M)
PLACE = r"first_call\.py:\d+ "
OWN_WORLD = ["deepspeeds_own"]  # it keeps its world for the whole process
FAULTY = [kind for kind in KINDS if kind != "monitored_barrier"]  # where gloo's collective comes first, the job trains already
FIRST = ["all_reduce", "barrier", "ddp", "batch_of_sends", "objects_gathered", "eager_all_reduce"]  # tried early: so different are they
LONG = ("--only", "--init-timeout", "20s", "--collective-timeout", "20s", "--quiet-timeout", "15s")


def all_healthy(scene):
    """One job for all: each kind has a world of its own in it, and only the first one's is the job's first."""
    kinds = [kind for kind in KINDS if kind not in OWN_WORLD]
    run = scene.run_safelaunch(*LONG, *spawned(str(JOB)), env=scene.environment(KIND=",".join(kinds), GLOO_SOCKET_IFNAME="lo"))
    whole = healthy(run)

    def said(kind):
        if all(f"passed {rank} {kind}\n" in run.out for rank in range(2)):
            return Said(True)
        failed = re.search(rf"^failed \d {kind}: .*", run.out, re.M)
        return Said(False, whole.cause, failed[0] if failed else "it was not reached")

    return {"first calls in one job": whole, **{f"healthy: {kind}": said(kind) for kind in kinds}}


def one_healthy(kind):
    def play(scene):
        return healthy(scene.run_safelaunch(*LONG, *spawned(str(JOB)), env=scene.environment(KIND=kind)), "passed 0", "passed 1")

    return Row(f"healthy first: {kind}", 15, play)


def absent(kind):
    def play(scene):
        run = scene.run_safelaunch(*SHORT, *spawned(str(JOB)), env=scene.environment(KIND=kind, FAULT="absent-before-call"))
        return named(run, ["rank-missing"], r"^Rank 1 (was missing|did not come).* in " + PLACE + "never_comes")

    return Row(f"rank 1 absent: {kind}", 15, play)


def stopped(kind):
    def play(scene):
        run = scene.run_safelaunch(*SHORT, *spawned(str(JOB)), env=scene.environment("no-kernel", KIND=kind, FAULT="stopped-inside"))
        return named(run, ["rank-stopped"], r"^Rank 1 .*stopped")

    return Row(f"rank 1 stopped inside: {kind}", 15, play)


rest = [kind for kind in FAULTY if kind not in FIRST]
# Alone: a thousand steps take long on a GPU on which the kernels of others wait for ever.
HEALTHY = [Row("healthy", 60, all_healthy, alone=True), *map(one_healthy, [*OWN_WORLD, *FIRST])]
FEW = [row for kind in FIRST for row in (absent(kind), stopped(kind))]
REST = [*map(absent, rest), *map(stopped, rest), *map(one_healthy, [kind for kind in KINDS if kind not in FIRST + OWN_WORLD])]
