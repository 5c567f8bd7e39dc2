#!/usr/bin/env python3
"""What the hook costs: an interpreter's start, init_process_group, the first collective, later ones.

Each figure compares two ways to run the same thing, A (without the hook) and B (with it), in turns
A B A B, so that a busy minute falls on both; it is the median of the differences within the pairs.
Needs a Python with torch; nothing but loopback is used.

    python bench/hook_cost.py [--starts 200] [--inits 10] [--json FILE]
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path.insert(0, os.path.join(ROOT, "tests", "hook"))
import harness  # noqa: E402
from collector import Collector  # noqa: E402

TRAIN = """
    import time, torch, torch.distributed as dist
    began = time.perf_counter()
    dist.init_process_group("gloo")
    initialized = time.perf_counter()
    number = torch.ones(1)
    dist.all_reduce(number)
    first = time.perf_counter()
    for _ in range(2000):
        dist.all_reduce(number)
    later = time.perf_counter()
    print(initialized - began, first - initialized, (later - first) / 2000)
    dist.destroy_process_group()
"""
ONE_RANK = dict(LOCAL_RANK=0, WORLD_SIZE=1, MASTER_ADDR="127.0.0.1")


def start_ms(env):
    """Processor time of an interpreter that does nothing, in ms; a busy machine adds little to it."""
    pid = os.posix_spawn(sys.executable, [sys.executable, "-c", "pass"], env)
    used = os.wait4(pid, 0)[2]
    return (used.ru_utime + used.ru_stime) * 1e3


def pairs(count, run, without, with_hook):
    """[(A, B), ...] in turns; one of each is thrown away, since it warms the caches."""
    run(without), run(with_hook)
    return [(run(without), run(with_hook)) for _ in range(count)]


def figure(name, unit, samples):
    return {
        "name": name, "unit": unit, "n": len(samples),
        "without": statistics.median(a for a, _ in samples), "with": statistics.median(b for _, b in samples),
        "difference": statistics.median(b - a for a, b in samples),
    }


def starts(count, collector):
    plain = harness.environment(PYTHONPATH=None)
    ways = (
        ("start (CPU), hook on the path and safelaunch absent", harness.environment()),
        ("start (CPU), with events", harness.environment(collector)),
        ("start (CPU), with events, RANK set", harness.environment(collector, RANK=0)),
    )
    for name, env in ways:
        yield figure(name, "ms", pairs(count, start_ms, plain, env))


def trainings(count, collector):
    path = harness.script(TRAIN)

    def run(base):
        env = dict(base, MASTER_PORT=str(harness.free_port()))
        out = subprocess.run([sys.executable, path], env=env, check=True, stdout=subprocess.PIPE).stdout
        return [float(word) for word in out.split()]

    samples = pairs(count, run, harness.environment(PYTHONPATH=None, RANK=0, **ONE_RANK),
                    harness.environment(collector, RANK=0, **ONE_RANK))
    for index, (name, unit, scale) in enumerate(
            (("init_process_group", "ms", 1e3), ("first all_reduce", "ms", 1e3), ("a later all_reduce", "us", 1e6))):
        yield figure(name, unit, [(a[index] * scale, b[index] * scale) for a, b in samples])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--starts", type=int, default=200, help="pairs of interpreter starts")
    parser.add_argument("--inits", type=int, default=10, help="pairs of programs that import torch")
    parser.add_argument("--json", help="write the figures to this file too")
    options = parser.parse_args()
    with Collector() as collector:
        figures = list(starts(options.starts, collector)) + list(trainings(options.inits, collector))
    print("%-58s %9s %9s %11s" % ("", "without", "with", "difference"))
    for each in figures:
        print("%-58s %9.3f %9.3f %+11.3f %s (n=%d)" % (
            each["name"], each["without"], each["with"], each["difference"], each["unit"], each["n"]))
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"python": sys.version.split()[0], "cpus": os.cpu_count(), "figures": figures}, file, indent=1)


if __name__ == "__main__":
    main()
