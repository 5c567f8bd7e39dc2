#!/usr/bin/env python3
"""Measures what safelaunch promises, side by side with torchrun and tini, and prints a table.

    python bench/run.py [--safelaunch PATH] [--torch-python PYTHON] [--only M2,M8] [--pairs 21] [--json FILE]

All ways of one figure are run in turn (A B A B …) on the same machine in the same minutes; a ratio is the median
of the ratios within the pairs. Compare ratios, not milliseconds: the machine's load changes the latter. bench/tables.py
makes the page's table of the file bench/rows/figures.json.
"""

import argparse
import dataclasses
import os
import pathlib
import sys

import m01_launch
import m02_wrap
import m03_exit
import m04_crash
import m05_detect
import m06_heal
import m07_lines
import m08_idle
import m09_tree
import m10_stale
import m11_ports
import m12_agree
import m13_doctor
import m14_death
from figures import Bench
from tables import keep, table, taken

FIGURES = {"M1": m01_launch, "M2": m02_wrap, "M3": m03_exit, "M4": m04_crash, "M5": m05_detect, "M6": m06_heal,
           "M7": m07_lines, "M8": m08_idle, "M9": m09_tree, "M10": m10_stale, "M11": m11_ports, "M12": m12_agree,
           "M13": m13_doctor, "M14": m14_death}
ROOT = pathlib.Path(__file__).resolve().parents[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--safelaunch", default=os.environ.get("SAFELAUNCH_BIN", str(ROOT / "build/package/launcher/cli/safelaunch")))
    parser.add_argument("--torch-python", default=sys.executable, help="a Python whose torchrun is the peer")
    parser.add_argument("--only", default=",".join(FIGURES), help="some of " + ",".join(FIGURES))
    parser.add_argument("--pairs", type=int, default=21, help="turns of each figure")
    parser.add_argument("--seconds", type=float, default=20, help="how long idle things are looked at")
    parser.add_argument("--json", help="put the figures into this file, in place of its older ones")
    options = parser.parse_args()
    unknown = [name for name in options.only.split(",") if name not in FIGURES]
    if unknown:
        parser.error(f"there is no figure {', '.join(unknown)}")
    bench = Bench(options.safelaunch, options.torch_python, options.pairs, options.seconds)
    rows = []
    try:
        for name in options.only.split(","):
            print(f"{name}: {FIGURES[name].__doc__.splitlines()[0].partition(', ')[2]}", file=sys.stderr)
            rows += map(taken, FIGURES[name].measure(bench))
    finally:
        bench.close()
    print(*table("figures", rows), sep="\n")
    anew = {row["figure"] for row in rows}
    for name in options.only.split(","):
        if name not in anew:
            print(f"{name}: nothing could be taken; its older rows stay", file=sys.stderr)
    if options.json:
        keep(options.json, rows, lambda row: row["figure"] in anew, lambda row: int(row["figure"][1:]))


if __name__ == "__main__":
    main()
