"""A pause in training: what stands still is told with its rank and place, what works on is not (jobs/standstill.py)."""

import json
import re
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
    "kernel_never_ends": r"standstill\.py:\d+ step",
    "groups_cross": r"groups_cross",
}
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

    return Row(f"standstill: {kind}", 35, play, over_doubles=kind != "kernel_never_ends")


def moves(kind):
    def play(scene):
        return healthy(scene.run_safelaunch(*PATIENT, *AFTER, "--", *job("standstill.py"), env=scene.environment(FAULT=kind)), "passed 0", "passed 1")

    return Row(f"no standstill: {kind}", 45, play, over_doubles=False)


ROWS = [*map(told, TOLD), *map(moves, MOVES)]
