"""NCCL's plugin without the hook, and torch's own watchdog."""

from gpu_harness import job
from row import PATIENT, SHORT, Row, Said, healthy, named


def plugin(scene):
    """NCCL's log tells a communicator; only the plugin tells that the first collective has ended."""
    run = scene.run_safelaunch(*SHORT, "--no-hook", "--", *job("train.py", 2), env=scene.environment())
    said = healthy(run, "trained on 2 ranks with nccl")
    seen = {(event["rank"], event["stage"]) for event in run.events if event["e"] == "stage"}
    missing = [rank for rank in range(2) if (rank, "collective") not in seen]
    return Said(False, said.cause, f"no end of the first collective was told for ranks {missing}") if said.ok and missing else said


def watchdog(scene):
    """The group's own timeout is of seconds; torch then takes a minute until rank 0 is dead."""
    run = scene.run_safelaunch(*PATIENT, "--", *job("watchdog.py", 2), env=scene.environment())
    return named(run, ["watchdog-timeout"])


ROWS = [Row("torch's watchdog", 90, watchdog), Row("plugin without the hook", 15, plugin)]
