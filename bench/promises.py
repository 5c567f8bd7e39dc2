#!/usr/bin/env python3
"""Tries what safelaunch promises (docs/promises.md) from outside, on the installed program, and prints a table.

    python bench/promises.py [P1 P5 …] [--what WORDS] [--trials N] [--peers] [--soak] [--json FILE] [--doc FILE]

SAFELAUNCH_BIN names the program; else it is the one in PATH. Each trial has folders of its own. The last line counts
the trials and the failures; the status is 0 only where nothing failed.
"""

import argparse
import dataclasses
import datetime
import importlib
import json
import os
import pathlib
import platform
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/integration"))
if "SAFELAUNCH_BIN" not in os.environ:
    os.environ["SAFELAUNCH_BIN"] = shutil.which("safelaunch") or sys.exit("there is no safelaunch in PATH; SAFELAUNCH_BIN may name it")

from promises.scene import Launcher, fresh_place, own_processes, peers  # noqa: E402
from promises.tries import EXPERIMENTS, row_of  # noqa: E402
from run import machine  # noqa: E402

for file in sorted((ROOT / "bench/promises").glob("p_*.py")):  # each registers what it tries
    importlib.import_module(f"promises.{file.stem}")

BEGIN, END = "<!-- rows: bench/promises.py --doc writes them -->", "<!-- end of the rows -->"
HEAD = ["| promise | what was tried | trials | failures | worst | peers' failures | when, where |",
        "| --- | --- | --- | --- | --- | --- | --- |"]


def number_of(promise):
    return int(promise[1:])


def where():
    return f"{datetime.date.today()}, {os.cpu_count()} CPUs, Linux {platform.release().split('-')[0]}"


def line(row):
    words = ", ".join(f"{name} {word}" for name, word in row.peers.items() if word != "-") or "-"
    return f"| {row.promise} | {row.what} | {row.trials} | {row.failures} | {row.worst} | {words} | {where()} |"


def rewrite(page, rows):
    """Puts the rows between the marks of the page; what was not tried now keeps its row."""
    text = pathlib.Path(page).read_text()
    before, _, rest = text.partition(BEGIN)
    old, _, after = rest.partition(END)
    known = [(experiment.promise, experiment.what) for experiment in EXPERIMENTS]
    key = lambda one: tuple(one.strip("| ").split(" | ")[:2])
    lines = {key(one): one for one in [*old.splitlines(), *map(line, rows)]}
    lines = sorted((one for named, one in lines.items() if named in known), key=lambda one: number_of(key(one)[0]))
    pathlib.Path(page).write_text("\n".join([before + BEGIN, *HEAD, *lines, END]) + after)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("promises", nargs="*", metavar="P5", help="all, where none is named")
    parser.add_argument("--what", default="", help="only what has these words in its line of the table")
    parser.add_argument("--trials", type=int, help="at most so many of each; without it a few, 15 minutes in all")
    parser.add_argument("--peers", action="store_true", help="try tini, dumb-init and torchrun too")
    parser.add_argument("--soak", action="store_true", help="as many as a night has room for")
    parser.add_argument("--json", help="write the rows to this file too")
    parser.add_argument("--doc", help="rewrite the table between the marks of this page")
    options = parser.parse_args()
    unknown = set(options.promises) - {experiment.promise for experiment in EXPERIMENTS}
    if unknown:
        parser.error(f"nothing tries {', '.join(sorted(unknown))}")
    own_processes()
    ours = Launcher("safelaunch", os.path.abspath(os.environ["SAFELAUNCH_BIN"]))
    print(machine(), "", *HEAD, sep="\n", flush=True)
    rows = []
    for experiment in sorted(EXPERIMENTS, key=lambda one: number_of(one.promise)):
        if experiment.promise not in (options.promises or [experiment.promise]) or options.what not in experiment.what:
            continue
        most = experiment.most if options.soak else experiment.trials
        place = fresh_place()
        try:
            rows.append(row_of(experiment, place, ours, peers(ROOT) if options.peers else [], min(most, options.trials or most)))
        finally:
            shutil.rmtree(place, ignore_errors=True)
        print(line(rows[-1]), flush=True)
        if rows[-1].first_failure:
            print(f"{experiment.promise} failed: {rows[-1].first_failure}", file=sys.stderr, flush=True)
    if options.json:
        told = {"machine": machine(), "rows": [dataclasses.asdict(row) for row in rows]}
        pathlib.Path(options.json).write_text(json.dumps(told, indent=1))
    if options.doc:
        rewrite(options.doc, rows)
    failures = sum(row.failures for row in rows)
    print(f"{sum(row.trials for row in rows)} trials, {failures} failures")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
