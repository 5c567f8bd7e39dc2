"""A pause in training: what stands still is told with its rank and place, what works on is not (jobs/standstill.py)."""

import json
import re
import shutil
import signal

from gpu_harness import job, wait_until
from row import PATIENT, Row, Said, healthy, short

AFTER = ("--stall-timeout", "5s")
PLACE = r"rank 1 is (idling )?in .*standstill\.py:\d+ "
TOLD = {
    "sleeps": r"[Rr]ank 1 never called all_?reduce.*" + PLACE + "sleeps",
    "is_stopped": r"[Rr]ank 1 .*stopped",
    "calls_another": r"is all_gather on rank 1, but all_reduce on rank 0",
    "receives_from_nobody": r"receives_from_nobody",
    "receive_in_a_circle": r"ranks 0 1 are in .*standstill\.py:\d+ (receive_in_a_circle|train|step)",
    "kernel_never_ends": r"standstill\.py:\d+ step",
    "groups_cross": r"groups_cross",
}
NOT_OVER_DOUBLES = ["calls_another", "receive_in_a_circle", "kernel_never_ends"]
MOVES = ["evaluates_alone", "waits_for_its_device_once", "saves", "replays_a_graph", "compiles", "leaves_one_open"]


def told(kind):
    def play(scene):
        run = scene.start(*PATIENT, *AFTER, "--grace", "3s", "--", *job("standstill.py"), env=scene.environment(FAULT=kind))
        events = run.run_directory / "events.jsonl"

        def stands():
            return [json.loads(line) for line in events.read_text().splitlines() if '"stall"' in line] if events.exists() else []

        wait_until(lambda: stands() or run.poll() is not None, scene.limit, "a standstill")
        run.send_signal(signal.SIGTERM)
        ended = scene.finish(run)
        words = short(" ".join(line for line in ended.err.splitlines() if re.search("finished for|rank 1", line)))
        return Said(bool(stands()) and re.search(TOLD[kind], ended.err, re.S) is not None, "stall" if stands() else None, words)

    return Row(f"standstill: {kind}", 35, play, over_doubles=kind not in NOT_OVER_DOUBLES)


def moves(kind):
    def play(scene):
        return healthy(scene.run_safelaunch(*PATIENT, *AFTER, "--", *job("standstill.py"), env=scene.environment(FAULT=kind)), "passed 0", "passed 1")

    return Row(f"no standstill: {kind}", 45, play, over_doubles=False)


def resumes(scene):
    """Killed, then hung, and then as far as one that nothing befell."""
    profile = scene.folder / "resumes.yaml"
    profile.write_text("name: resumes\nextends: basic\ntimeouts: {stall: 5s}\non_stall: restart\n"
                       "resume: {marker: 'ckpt/*.pt', append: [--resume]}\noptions: {grace: 3s}\n")
    bare = scene.run_safelaunch(*PATIENT, "--", *job("checkpoints.py"), env=scene.environment())
    shutil.rmtree(scene.folder / "ckpt", ignore_errors=True)
    (scene.folder / "fault-15-1").write_text("killed")
    (scene.folder / "fault-33-0").write_text("hung")
    run = scene.run_safelaunch("--profile", profile, *PATIENT[1:], "--", *job("checkpoints.py"), env=scene.environment())
    weights = [re.findall("weights .*", each.out) for each in (bare, run)]
    ends = [attempt["end"] for attempt in run.attempts]
    ok = len(weights[0]) == 1 and weights[0] == weights[1] and ends == ["failed", "stalled in training", "completed"]
    return Said(ok, None, short(f"{weights} {ends} {'' if ok else run}"))


ROWS = [Row("goes on from a checkpoint", 60, resumes), *map(told, TOLD), *map(moves, MOVES)]
