#!/usr/bin/env python3
"""Short jobs with signals at random moments: how each ends, what it leaves running or lying about, and its record.

    python bench/short_jobs.py [--safelaunch PATH] [--jobs 300] [--seed N] [--job INDEX]

Runs as root in pid and mount namespaces of its own. What is not as promised is told with its seed and index: --job
does the same to the same job again, and the machine's load decides whether it is hit at the same place.
"""

import argparse
import collections
import dataclasses
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

from figures import Bench, percentile
from light_job import WORKER
from m14_death import _children, _marked

ENDS_WITHIN = 60.0  # half a second is usual; who is later than this hangs
GONE_WITHIN = 10.0  # once the guardian is killed the supervisor ends the job, and nobody waits for it
ASKING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)

TRAPPING = 'trap "exit 42" INT TERM HUP QUIT USR1; sleep 0.2 & wait; exit 7'
DAEMON = "(setsid sleep 1000 &); sleep 0.1; exit 3"
BY_SHELL = "for rank in 0 1; do RANK=$rank WORLD_SIZE=2 LOCAL_RANK=$rank " + " ".join(WORKER) + " none & done; wait; exit 5"

# name: (options and command, the statuses that it chooses itself)
KINDS = {
    "a command": (["sleep", "0.1"], {0}),
    "a shell that chooses its status": (["sh", "-c", TRAPPING], {7, 42}),
    "a shell that leaves a daemon": (["sh", "-c", DAEMON], {3}),
    "a shell that starts ranks": (["sh", "-c", BY_SHELL], {5}),
    "own spawn": (["--nproc-per-node", "3", "--", "sleep", "0.1"], {0}),
    "own spawn, a rank that fails": (["--nproc-per-node", "3", "--", "sh", "-c", 'sleep 0.1; exit "$RANK"'], {1, 2}),
    "own spawn, light workers": (["--nproc-per-node", "2", "--", *WORKER, "none"], {0}),
}


@dataclasses.dataclass
class Blow:
    """What is done to a run: at `after` seconds, `signal` to the guardian (the pid that the user knows) or the supervisor."""

    after: float
    signal: int
    to: str = "guardian"

    def __str__(self):
        return f"{signal.Signals(self.signal).name} to the {self.to} after {self.after * 1e3:.1f} ms"


def moment(chance):
    """From a millisecond to half a second, the beginning as often as the rest."""
    return 0.001 * 500 ** chance.random()


def blows(chance):
    """The name of what is done, and its parts in the order of time."""
    at, gap = moment(chance), moment(chance) / 5
    one, other = chance.choice(ASKING), chance.choice(ASKING)
    return chance.choice([
        ("one signal", [Blow(at, one)]),
        ("one signal", [Blow(at, one)]),
        ("USR1", [Blow(at, signal.SIGUSR1)]),
        ("two signals", [Blow(at, one), Blow(at + gap, other)]),
        ("the same signal twice", [Blow(at, one), Blow(at + gap, one)]),
        ("the guardian is stopped and goes on", [Blow(at, signal.SIGSTOP), Blow(at + gap, signal.SIGCONT)]),
        ("the supervisor is stopped and goes on", [Blow(at, signal.SIGSTOP, "supervisor"), Blow(at + gap, signal.SIGCONT)]),
        ("the guardian is killed", [Blow(at, signal.SIGKILL)]),
        ("the supervisor is killed", [Blow(at, signal.SIGKILL, "supervisor")]),
        ("a signal, and the supervisor is killed", [Blow(at, one), Blow(at + gap, signal.SIGKILL, "supervisor")]),
    ])


def strike(process, blow):
    """False where there is nobody any more, or not yet."""
    victims = [process.pid] if blow.to == "guardian" else _children(process.pid)[:1]
    for victim in victims:
        try:
            os.kill(victim, blow.signal)
        except ProcessLookupError:
            return False
    return bool(victims)


def statuses_after(struck, own):
    """What the job may end with, as a shell shows it."""
    first = next((blow.signal for blow in struck if blow.signal in ASKING), None)
    may = set(own)
    for blow in struck:
        if blow.signal in (signal.SIGKILL, signal.SIGUSR1):
            may.add(128 + blow.signal)
        elif blow.signal in ASKING and (blow.signal == first or blow.signal < first):
            may.add(128 + blow.signal)  # of two that wait at the same time the kernel hands out the lower one first
    return may


@dataclasses.dataclass
class Trial:
    """One job: what was done to it, and what was not as it should be."""

    seed: str
    kind: str
    blow: str
    struck: list
    options: list
    status: int = None
    seconds: float = 0.0
    faults: list = dataclasses.field(default_factory=list)

    def __str__(self):
        done = ", ".join(map(str, self.struck)) or "nothing in time"
        return f"{self.seed}: {self.kind} {' '.join(self.options)}: {done}: {self.status} after {self.seconds:.2f} s {'; '.join(self.faults)}"


class Ground:
    """Where one job runs: folders that nobody else uses, and a mark that all its processes carry."""

    def __init__(self, bench):
        self.record = bench.fresh_folder("record") / "run"
        self.temporary = bench.fresh_folder("temporary")
        self.stamps = bench.fresh_folder("stamps")
        self.mark = f"STAMPS={self.stamps}"
        self.environment = bench.environment(STAMPS=str(self.stamps), TMPDIR=str(self.temporary))

    def left(self):
        """What is there and should not be."""
        files = [*self.temporary.iterdir(), *pathlib.Path("/dev/shm").iterdir()]
        return [f"left {path}" for path in files]


def faults_of_record(folder, status, killed):
    """A whole record of a run that ended, whole lines of one that was killed."""
    if killed:
        lines = (folder / "events.jsonl").read_text().splitlines()[:-1] if (folder / "events.jsonl").exists() else []
        return [f"events.jsonl: {line!r}" for line in lines if not is_event(line)]
    try:
        events = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
        outcome = json.loads((folder / "outcome.json").read_text())
    except (OSError, ValueError) as trouble:
        return [f"record: {trouble}"]
    faults = []
    if events[0]["e"] != "run" or events[-1]["e"] != "end":
        faults.append(f"record: from {events[0]['e']} to {events[-1]['e']}")
    elif events[-1]["exit_status"] != status or outcome["exit_status"] != status:
        faults.append(f"record: ended with {events[-1]['exit_status']}, outcome.json with {outcome['exit_status']}")
    return faults


def is_event(line):
    try:
        return "e" in json.loads(line)
    except ValueError:
        return False


def survivors(mark, patience):
    """Pids of the job that live on."""
    end = time.monotonic() + patience
    while (left := _marked(mark)) and time.monotonic() < end:
        time.sleep(0.005)
    return left


def run_one(bench, seed):
    chance = random.Random(seed)
    kind = chance.choice(list(KINDS))
    words, own = KINDS[kind]
    name, planned = blows(chance)
    options = chance.choice([[], ["--no-preflight"]])
    ground = Ground(bench)
    argv = [bench.safelaunch, "--run-dir", str(ground.record), *options, *words]
    began = time.monotonic()
    process = subprocess.Popen(argv, env=ground.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, cwd=bench.folder)
    trial = Trial(seed, kind, name, [], options)
    for blow in planned:
        time.sleep(max(0.0, began + blow.after - time.monotonic()))
        if process.poll() is None and strike(process, blow):
            trial.struck.append(blow)
    try:
        process.wait(ENDS_WITHIN)
    except subprocess.TimeoutExpired:
        trial.faults.append("no end")
        process.kill()
        process.wait()
    trial.seconds = time.monotonic() - began
    judge(trial, process, own, ground)
    return trial


def judge(trial, process, own, ground):
    code = process.returncode
    trial.status = code if code >= 0 else 128 - code
    killed = [blow.to for blow in trial.struck if blow.signal == signal.SIGKILL]
    left = survivors(ground.mark, GONE_WITHIN if "guardian" in killed else 0.0)
    if left:
        trial.faults.append(f"{len(left)} live on")
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    if trial.status not in statuses_after(trial.struck, own):
        trial.faults.append(f"status {trial.status}: {process.stderr.read().decode(errors='replace')!r}")
    trial.faults += ground.left()
    before_it_began = code < 0 and not ground.record.exists()  # a signal has met the program before its main
    if not before_it_began:
        trial.faults += faults_of_record(ground.record, trial.status, killed)
    process.stderr.close()




def tell(trials):
    done = collections.Counter((trial.blow, "in time" if trial.struck else "after its end") for trial in trials)
    for (blow, when), count in sorted(done.items()):
        print(f"{count:4} {blow}, {when}")
    statuses = collections.Counter(trial.status for trial in trials)
    print("statuses:", ", ".join(f"{status}: {count}" for status, count in sorted(statuses.items())))
    seconds = [trial.seconds for trial in trials]
    print(f"until the end: median {percentile(seconds, 0.5):.2f} s, p95 {percentile(seconds, 0.95):.2f} s; the longest:")
    print(max(trials, key=lambda trial: trial.seconds))
    wrong = [trial for trial in trials if trial.faults]
    print(f"{len(trials)} jobs, {len(wrong)} not as promised", *wrong, sep="\n")
    return 1 if wrong else 0


def enter_own_namespaces():
    """Begins again where /proc shows the jobs alone, and /dev/shm is empty."""
    words = ["unshare", "-mpf", "--mount-proc", "--kill-child", "sh", "-c", 'mount -t tmpfs tmpfs /dev/shm && exec "$@"', "sh"]
    os.execvp(words[0], [*words, sys.executable, *sys.argv, "--inside"])


def main():
    root = pathlib.Path(__file__).resolve().parents[1]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--safelaunch", default=os.environ.get("SAFELAUNCH_BIN", str(root / "build/release/launcher/cli/safelaunch")))
    parser.add_argument("--jobs", type=int, default=300)
    parser.add_argument("--seed", default=str(random.SystemRandom().randrange(10 ** 6)))
    parser.add_argument("--job", type=int, help="this one alone")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.inside:
        enter_own_namespaces()
    bench = Bench(options.safelaunch, None, 1, 0)
    print(f"seed {options.seed}", flush=True)
    indexes = range(options.jobs) if options.job is None else [options.job]
    trials = [run_one(bench, f"{options.seed}/{index}") for index in indexes]
    bench.close()
    sys.exit(tell(trials))


if __name__ == "__main__":
    main()
