"""A row of the script: what is tried, how long it usually takes, and the lines that come of it."""

import dataclasses
import json
import re
import subprocess
import sys
import time
import typing

from gpu_harness import JOBS, SAFELAUNCH, GpuTest, false_alarms, free_port

# Ranks that import torch are at work, so no clock runs meanwhile.
SHORT = ("--only", "--init-timeout", "4s", "--collective-timeout", "4s", "--quiet-timeout", "3s")
PATIENT = ("--only", "--init-timeout", "60s", "--collective-timeout", "60s", "--quiet-timeout", "60s")


@dataclasses.dataclass
class Row:
    name: str
    usual: int  # seconds on a machine with a GPU: a row is begun where so many are left, and ended after four times as many
    play: typing.Callable  # with a Scene; gives the Said of the row, or those of several rows by their names
    alone: bool = False  # it measures, or others would slow it
    over_doubles: bool = True


@dataclasses.dataclass
class Said:
    ok: bool
    cause: typing.Optional[str] = None
    why: str = ""


class Scene(GpuTest):
    """The folder, the environment and the time that one row has."""

    def __init__(self, seconds):
        super().__init__()
        self.began = time.monotonic()
        self.end = self.began + seconds

    @property
    def limit(self):
        return max(1, self.end - time.monotonic())

    def runTest(self):
        """unittest asks for it; the script plays rows and not tests."""

    def environment(self, fault="", **more):
        return super().environment(fault, **{"ONE_GPU": str(JOBS), **more})

    def close(self):
        try:
            self.tearDown()
        finally:
            self.doCleanups()

    def ask(self, *words):
        """A verb of safelaunch: its status, and what it answers in JSON."""
        done = subprocess.run([SAFELAUNCH, *words, "--json", "--", sys.executable], env=self.environment(), cwd=self.folder,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=self.limit)
        return done.returncode, json.loads(done.stdout or "{}"), done.stderr


def spawned(*words, ranks=2):
    """Ranks that safelaunch starts itself."""
    return ["--nproc-per-node", ranks, "--master-port", free_port(), "--", sys.executable, *words]


def cause_of(run):
    return (run.attempts[0].get("cause") or {}) if run.attempts else {}


def short(text):
    """In one line; a long text's end is more telling than its middle."""
    line = " ".join(str(text).split())
    return line if len(line) <= 700 else f"{line[:200]} … {line[-500:]}"


def healthy(run, *words):
    """The job came through with one attempt, its output has the words, and safelaunch said nothing about a hang."""
    if run.status != 0 or len(run.attempts) != 1:
        return Said(False, cause_of(run).get("id"), short(run))
    wrong = [f"its output lacks {word}" for word in words if word not in run.out] + false_alarms(run.err, [run.events])
    return Said(not wrong, None, short("; ".join(wrong)))


def named(run, causes, pattern=""):
    """The first attempt has one of the causes, and its explanation says this."""
    cause = cause_of(run)
    said, explanation = cause.get("id"), cause.get("explanation", "")
    ok = said in causes and re.search(pattern, explanation) is not None
    return Said(ok, said, explanation if ok else short(f"{explanation} {run}"))
