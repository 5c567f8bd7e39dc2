"""What really goes wrong on a GPU, and what safelaunch says of it (jobs/failing.py)."""

import re
import subprocess
import sys

from gpu_harness import JOBS, job, wait_until
from row import PATIENT, SHORT, Row, named

CAUSES = {
    "more_than_there_is": ["gpu-oom"],
    "none_left_for_nccl": ["gpu-oom-in-nccl", "gpu-oom", "gpu-held"],
    "index_out_of_range": ["device-assert"],
    "no_such_device": ["device-ordinal"],
    "illegal_address": ["illegal-address"],
    "calls_differ": ["ranks-disagree"],
    "killed_in_training": ["rank-died", "command-killed"],
}


def fault(name):
    def play(scene):
        run = scene.run_safelaunch(*SHORT, "--", *job("failing.py"), env=scene.environment(FAULT=name))
        return named(run, CAUSES[name])

    return Row(f"failing: {name}", 25, play, alone=name == "none_left_for_nccl", over_doubles=False)


def stands_still(scene):
    profile = scene.folder / "ends-stalls.yaml"
    profile.write_text("name: ends-stalls\nextends: basic\ntimeouts: {stall: 4s}\non_stall: kill\n")
    run = scene.run_safelaunch("--profile", profile, *PATIENT, "--", *job("failing.py"),
                               env=scene.environment(FAULT="does_not_come_to_step_three"))
    return named(run, ["rank-missing", "training-stalled", "collective-stuck"], r"\b[Rr]ank 1\b.*failing\.py:\d+ does_not_come")


def somebody_holds_the_memory(scene):
    environment = scene.environment(FAULT="holds_memory", RANK="0")
    holder = subprocess.Popen([sys.executable, str(JOBS / "failing.py")], env=environment, stdout=subprocess.PIPE, text=True)
    try:
        wait_until(lambda: holder.stdout.readline().strip() == "held", 60, "the holder")
        run = scene.run_safelaunch(*SHORT, "--", *job("failing.py"), env=scene.environment(FAULT="wants_more_than_is_left"))
        return named(run, ["gpu-held"], re.escape(str(holder.pid)))
    finally:
        holder.kill()
        holder.wait()


ROWS = [
    *map(fault, CAUSES),
    Row("failing: a rank stays away in training", 25, stands_still, over_doubles=False),
    Row("failing: somebody else holds the memory", 25, somebody_holds_the_memory, alone=True, over_doubles=False),
]
