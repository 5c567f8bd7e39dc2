"""M2, wrap cost: what `safelaunch -- true` takes more than `true`, beside tini."""

import os
import shutil
import time

from figures import compare, in_turns

# One run is a millisecond: a sample is the quickest of a few, so that a single late wake-up is no sample.
RUNS_IN_A_SAMPLE = 7


def _spawn(argv, environment):
    began = time.perf_counter()
    pid = os.posix_spawn(argv[0], argv, environment)
    used = os.wait4(pid, 0)[2]
    return time.perf_counter() - began, used.ru_utime + used.ru_stime


def measure(bench):
    if not bench.tini:
        return []
    true = shutil.which("true")
    environment = bench.environment()
    commands = {"bare": [true], "safelaunch": [bench.safelaunch, "--no-preflight", "--", true],
                "safelaunch with preflight": [bench.safelaunch, "--", true], "tini": [bench.tini, "-s", "--", true]}
    processor = {name: [] for name in commands}

    def sample(name):
        runs = [_spawn(commands[name], environment) for _ in range(RUNS_IN_A_SAMPLE)]
        processor[name].append(sum(cpu for _, cpu in runs) / len(runs) * 1e3)
        return min(wall for wall, _ in runs) * 1e3

    turns = in_turns(bench.pairs, {name: lambda name=name: sample(name) for name in commands})
    cpu_turns = [dict(zip(processor, values)) for values in list(zip(*processor.values()))[1:]]
    words = dict(figure="M2", unit="ms", base="bare")
    return [
        compare(turns, "safelaunch", "tini", what="wrap cost over bare, preflight off", goal="<= 1.5x tini", limit=1.5, **words),
        compare(cpu_turns, "safelaunch", "tini", what="the same, processor time", goal="<= 1.5x tini", limit=1.5, **words),
        compare(turns, "safelaunch with preflight", "tini", what="wrap cost over bare, preflight on",
                goal="<= 15 ms", limit=15 / 0.72, **words),
    ]
