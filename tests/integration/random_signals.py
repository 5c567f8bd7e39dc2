#!/usr/bin/env python3
"""Short jobs, each of which gets a random signal at a random moment, at safelaunch or at its process group.

    random_signals.py [--count N] [--seed N] [--only NUMBER] [--jobs N] [--light] [--bare]

Whatever comes, safelaunch ends in time, with a status that fits (the job's own, or 128+N), leaves nothing of the job behind, and
gives the terminal its modes back. A number and a seed make the same job, signal and moment again. --light leaves out what starts
torchrun; --bare runs the same without safelaunch, and shows that the expected statuses are those of the jobs themselves.
"""

import argparse
import collections
import concurrent.futures
import ctypes
import os
import random
import signal
import subprocess
import sys
import tempfile
import termios
import time
import uuid

from harness import SAFELAUNCH, processes_with, torchrun
from terminal import Terminal, shell_status

ENDING = ("TERM", "INT", "HUP", "QUIT", "USR1", "USR2", "ALRM")
HARMLESS = ("WINCH", "CHLD", "URG", "CONT", "PIPE")
STOPPED = "STOP and CONT"
PR_SET_CHILD_SUBREAPER = 36
PYTHON = [sys.executable, "-S", "-c"]
HANDLES = """
import signal, sys, time
for name in ("TERM", "INT", "HUP", "USR1"): signal.signal(getattr(signal, "SIG" + name), lambda *_: sys.exit(7))
while True: time.sleep(0.05)
"""
DAEMON = "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0: time.sleep(1000)\n    os._exit(0)\ntime.sleep(1000)"

# The job's words; its status where it ends by itself; the status of a handler of its own; safelaunch's options; how long it may take;
# the signals that do not end it.
Job = collections.namedtuple("Job", "words status own options limit deaf", defaults=(None, None, (), 30, ()))
LIGHT = {
    # A shell heeds an INT only where what it waits for ends by that too, and safelaunch hands on what came to its group to the shell alone.
    "a shell that waits": Job(["sh", "-c", "sleep 1000; true"], deaf=("INT",)),
    "a shell with children": Job(["sh", "-c", "sleep 1000 & sleep 1000 & wait"]),
    "a shell that traps": Job(["bash", "-c", "trap 'exit 7' TERM INT HUP USR1 QUIT; while :; do sleep 0.05; done"], own=7),
    "a short shell": Job(["sh", "-c", "sleep 0.6; exit 5"], status=5),
    "a short pipeline": Job(["bash", "-c", "set -o pipefail; (sleep 0.5; echo line; exit 6) | cat | cat"], status=6),
    "a Python": Job([*PYTHON, "import time; time.sleep(1000)"]),
    "a Python that handles": Job([*PYTHON, HANDLES], own=7),
    "a short Python": Job([*PYTHON, "import sys, time; time.sleep(0.6); sys.exit(4)"], status=4),
    "a daemon": Job([*PYTHON, DAEMON]),
    "ranks": Job([*PYTHON, "import time; time.sleep(1000)"], options=("--nproc-per-node", "2")),
    "short ranks": Job([*PYTHON, "import time; time.sleep(0.6)"], status=0, options=("--nproc-per-node", "2")),
}
HEAVY = {
    "torchrun": Job(torchrun("--nproc_per_node=2", "--no-python", *PYTHON, "import time; time.sleep(1000)"), limit=120),
    "a short torchrun": Job(torchrun("--nproc_per_node=2", "--no-python", *PYTHON, "import time; time.sleep(0.6)"), status=0, limit=120),
}


class Trial:
    """One job, one signal, one moment: all of it follows from the seed and the number."""

    def __init__(self, seed, number, light):
        dice = random.Random(f"{seed}.{number}")
        kinds = LIGHT if light or dice.random() < 0.85 else HEAVY
        self.number, self.name = number, dice.choice(sorted(kinds))
        self.job = kinds[self.name]
        self.moment = dice.uniform(0, 4 if self.name in HEAVY else 1)
        # Who does not end by itself needs a signal that ends it.
        signals = ENDING if self.job.status is None else (*ENDING, *HARMLESS, STOPPED)
        self.signal = dice.choice([one for one in signals if one not in self.job.deaf])
        self.to_group, self.at_terminal = dice.random() < 0.4, dice.random() < 0.3
        self.pause = dice.uniform(0, 0.4)

    def __str__(self):
        return (f"{self.number}: {self.name}{' at a terminal' if self.at_terminal else ''}, {self.signal} to "
                f"{'the group' if self.to_group else 'the process'} after {self.moment:.2f} s")

    def allowed(self):
        """The job may have ended before the signal came, and the signal may come before the job has its handler."""
        by_itself = set() if self.job.status is None else {self.job.status}
        if self.signal == STOPPED or self.signal in HARMLESS:
            return by_itself | ({128 + signal.SIGPIPE} if self.signal == "PIPE" else set())
        number = getattr(signal, "SIG" + self.signal)
        return by_itself | {128 + number} | (set() if self.job.own is None else {self.job.own})

    def send(self, process):
        names = ("STOP", "CONT") if self.signal == STOPPED else (self.signal,)
        for name in names:
            if process.poll() is not None:
                return
            try:
                (os.killpg if self.to_group else os.kill)(process.pid, getattr(signal, "SIG" + name))
            except ProcessLookupError:
                return
            time.sleep(self.pause if name == "STOP" else 0)

    def run(self, folder, bare):
        """What is wrong with it; nothing, where all is well."""
        mark = f"SAFELAUNCH_TEST_MARK={uuid.uuid4().hex}"
        name, value = mark.split("=")
        env = {**os.environ, "XDG_STATE_HOME": folder, "OMP_NUM_THREADS": "1", name: value}
        words = self.job.words if bare else [SAFELAUNCH, *self.job.options, "--", *self.job.words]
        status, modes = (self.run_at_terminal if self.at_terminal else self.run_apart)(words, {"env": env, "cwd": folder})
        left = [] if bare else self.left(mark)
        for pid in processes_with(mark):
            os.kill(pid, signal.SIGKILL)
        wrong = [] if status in self.allowed() else [f"status {status}, not one of {sorted(self.allowed())}"]
        return wrong + modes + ([f"left behind: {left}"] if left else [])

    def run_apart(self, words, options):
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   start_new_session=True, **options)
        time.sleep(self.moment)
        self.send(process)
        try:
            return shell_status(process.wait(self.job.limit)), []
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return f"none within {self.job.limit} s", []

    def run_at_terminal(self, words, options):
        terminal = Terminal(words, **options)
        time.sleep(self.moment)
        self.send(terminal.process)
        end = time.monotonic() + self.job.limit
        while terminal.process.poll() is None and time.monotonic() < end:
            if not terminal.read(0.05):
                time.sleep(0.01)
        after = termios.tcgetattr(terminal.master)
        ended = terminal.process.poll() is not None
        if not ended:
            terminal.process.kill()
            terminal.process.wait()
        os.close(terminal.master)
        return (shell_status(terminal.process.returncode) if ended else f"none within {self.job.limit} s",
                [] if terminal.modes == after else ["the terminal's modes are not as before"])

    def left(self, mark):
        """A signal that ends one half before it listens leaves the rest to the other half, which needs a moment."""
        end = time.monotonic() + 10
        while (left := processes_with(mark)) and time.monotonic() < end:
            time.sleep(0.02)
        return left


def adopted():
    """The orphans that have come to us, those aside that only wait to be reaped."""
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                return open(f"/proc/self/task/{os.getpid()}/children").read().split()
        except ChildProcessError:
            return []


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--light", action="store_true")
    parser.add_argument("--bare", action="store_true")
    arguments = parser.parse_args()
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    numbers = [arguments.only] if arguments.only is not None else range(arguments.count)
    trials = [Trial(arguments.seed, number, arguments.light) for number in numbers]
    if arguments.bare:  # safelaunch's own ranks have no bare form
        trials = [trial for trial in trials if not trial.job.options]
    failed = 0
    with tempfile.TemporaryDirectory(prefix="safelaunch-signals-") as folder, concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for trial, wrong in zip(trials, pool.map(lambda trial: trial.run(folder, arguments.bare), trials)):
            failed += bool(wrong)
            if wrong:
                print(f"{trial}: {'; '.join(wrong)}", flush=True)
        orphans = adopted()
    print(f"{len(trials)} jobs, {failed} not as they must be" + (f"; orphans: {orphans}" if orphans else ""))
    sys.exit(1 if failed or orphans else 0)


if __name__ == "__main__":
    main()
