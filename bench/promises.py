#!/usr/bin/env python3
"""Tries what safelaunch promises (docs/promises.md) from outside, on the installed program, and prints a table.

    python bench/promises.py [P1 P5 …] [--what WORDS] [--trials N] [--peers] [--soak] [--json FILE]

SAFELAUNCH_BIN names the program; else it is the one in PATH. Each trial has folders of its own. The last line counts
the trials and the failures; the status is 0 only where nothing failed. bench/tables.py makes the page's table of the
file bench/rows/promises.json.
"""

import argparse
import dataclasses
import importlib
import os
import pathlib
import shutil
import signal
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/integration"))
if "SAFELAUNCH_BIN" not in os.environ:
    os.environ["SAFELAUNCH_BIN"] = shutil.which("safelaunch") or sys.exit("there is no safelaunch in PATH; SAFELAUNCH_BIN may name it")

from promises.scene import INITS, LAUNCHERS, fresh_place, ours, own_processes, peers  # noqa: E402
from promises.tries import EXPERIMENTS, row_of  # noqa: E402
from tables import TABLES, keep, line, machine, promise, taken  # noqa: E402

for file in sorted((ROOT / "bench/promises").glob("p_*.py")):  # each registers what it tries
    importlib.import_module(f"promises.{file.stem}")

def number_of(name):
    return int(name[1:])


def key(row):
    return row["promise"], row["what"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("promises", nargs="*", metavar="P5", help="all, where none is named")
    parser.add_argument("--what", default="", help="only what has these words in its line of the table")
    parser.add_argument("--trials", type=int, help="at most so many of each; without it a few, 15 minutes in all")
    parser.add_argument("--peers", action="store_true", help=f"try {', '.join((*INITS, *LAUNCHERS))} too, where they are installed")
    parser.add_argument("--soak", action="store_true", help="as many as a night has room for")
    parser.add_argument("--json", help="put the rows into this file, in place of its older ones")
    options = parser.parse_args()
    unknown = set(options.promises) - {experiment.promise for experiment in EXPERIMENTS}
    if unknown:
        parser.error(f"nothing tries {', '.join(sorted(unknown))}")
    for ignored in (signal.SIGINT, signal.SIGQUIT):  # as a shell has it for what it starts in the background
        signal.signal(ignored, signal.SIG_DFL)
    own_processes()
    beside = peers(ROOT) if options.peers else []
    head = TABLES["promises"][-1]
    print(machine(), "", line(head), line(["---"] * len(head)), sep="\n", flush=True)
    rows = []
    for experiment in sorted(EXPERIMENTS, key=lambda one: number_of(one.promise)):
        if experiment.promise not in (options.promises or [experiment.promise]) or options.what not in experiment.what:
            continue
        most = experiment.most if options.soak else experiment.trials
        place = fresh_place()
        try:
            rows.append(row_of(experiment, place, ours(), beside, min(most, options.trials or most)))
        finally:
            shutil.rmtree(place, ignore_errors=True)
        print(line(promise(dataclasses.asdict(rows[-1]))), flush=True)
        if rows[-1].first_failure:
            print(f"{experiment.promise} failed: {rows[-1].first_failure}", file=sys.stderr, flush=True)
    if options.json:
        kept = [taken(row) for row in rows]
        known = [(experiment.promise, experiment.what) for experiment in EXPERIMENTS]
        tried = [key(row) for row in kept]
        keep(options.json, kept, lambda row: key(row) in tried or key(row) not in known,
             lambda row: (number_of(row["promise"]), known.index(key(row))))
    failures = sum(row.failures for row in rows)
    print(f"{sum(row.trials for row in rows)} trials, {failures} failures")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
