"""Jobs of light workers, spoilt on purpose, and what they noted of it."""

import datetime
import json
import subprocess
import sys
import time

from figures import BENCH

WORKER = [sys.executable, str(BENCH / "light_worker.py")]
WORKERS = 8


class SpoiltJob:
    """One run; times are seconds in CLOCK_MONOTONIC."""

    def __init__(self, stamps, record=None):
        self._stamps, self._record = stamps, record

    def stamp(self, name, attempt=1):
        """{rank: when} of the ranks that have noted it."""
        return {int(path.name.rpartition("-")[2]): int(path.read_text()) / 1e9
                for path in self._stamps.glob(f"{name}-{attempt}-*") if path.suffix != ".new"}

    @property
    def fault(self):
        return min(self.stamp("fault").values())

    @property
    def others_asked_to_end(self):
        """When the first of the healthy ranks was asked to end: the launcher knows."""
        return min(self.stamp("term").values())

    def event(self, name):
        """When the first event of that name was recorded, to the millisecond of the record's wall clock."""
        for line in (self._record / "events.jsonl").read_text().splitlines():
            event = json.loads(line)
            if event["e"] == name:
                wall = datetime.datetime.fromisoformat(event["wall"].replace("Z", "+00:00")).timestamp()
                return wall - (time.time() - time.monotonic())
        raise AssertionError(f"nothing of '{name}' is in the record")


def spoilt_by(bench, fault, *options):
    """Runs it under safelaunch, to its end."""
    stamps, record = bench.fresh_folder("stamps"), bench.fresh_folder("run")
    argv = [bench.safelaunch, "--no-preflight", "--run-dir", str(record), "--nproc-per-node", str(WORKERS), *options,
            "--", *WORKER, fault]
    process = subprocess.run(argv, env=bench.environment(STAMPS=str(stamps)), stdin=subprocess.DEVNULL, cwd=bench.folder,
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=120)
    job = SpoiltJob(stamps, record)
    job.status, job.words = process.returncode, process.stderr
    return job


def spoilt_under(peer, bench, fault, patience):
    """Runs it under torchrun or what builds on it until somebody is asked to end, or the patience is over."""
    stamps = bench.fresh_folder("stamps")
    process = subprocess.Popen(bench.elastic(WORKERS, "--no-python", *WORKER, fault)[peer], env=bench.environment(STAMPS=str(stamps)),
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=bench.folder)
    job = SpoiltJob(stamps)
    while process.poll() is None and not job.stamp("fault"):
        time.sleep(0.01)
    try:
        process.wait(timeout=patience)
    except subprocess.TimeoutExpired:
        for rank_stopped in _stopped_children(process.pid):
            subprocess.run(["kill", "-CONT", str(rank_stopped)], check=False)
        job.gave_up = True
        process.terminate()
        process.wait()
        return job
    job.gave_up = False
    return job


def _stopped_children(pid):
    children = open(f"/proc/{pid}/task/{pid}/children").read().split()
    return [int(child) for child in children if open(f"/proc/{child}/stat").read().rpartition(")")[2].split()[0] == "T"]
