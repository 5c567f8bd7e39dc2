#!/usr/bin/env python3
"""Writes the tables of docs/promises.md and docs/measurements.md from the rows that the benches keep in bench/rows.

    python bench/tables.py [--check]

With --check it writes nothing, and fails where a page has another table than the rows give.
"""

import argparse
import dataclasses
import datetime
import json
import math
import os
import pathlib
import platform
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
ROWS = ROOT / "bench/rows"
END = "<!-- end of the table -->"


def machine():
    """The machine in words, without its name."""
    cpu = next((line.partition(":")[2].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.machine())
    memory = int(open("/proc/meminfo").readline().split()[1]) / 2 ** 20
    return f"{os.cpu_count()} CPUs ({cpu}), {memory:.0f} GiB, Linux {platform.release().split('-')[0]}"


def taken(row):
    """The row as it is kept: with the day, the machine, and its load at the end of the trials."""
    return {**dataclasses.asdict(row), "date": f"{datetime.date.today()}", "machine": machine(), "load": f"{os.getloadavg()[0]:.1f}"}


def keep(path, rows, stale, order):
    """Puts rows into a file, a line each, in place of its stale ones."""
    path = pathlib.Path(path)
    old = json.loads(path.read_text()) if path.exists() else []
    kept = sorted([*(row for row in old if not stale(row)), *rows], key=order)
    path.write_text("[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in kept) + "\n]\n")


def number(value):
    if value is None:
        return "-"
    if math.isinf(value):
        return "never"
    return f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"


def figure(row):
    ratio, ratio_p95 = ("-" if row[name] is None else f"{number(row[name])}x" for name in ("ratio", "ratio_p95"))
    peer = f"{row['peer']} {number(row['peers'])}" if row["peer"] else "-"
    return (f"{row['figure']}: {row['what']}", ratio, ratio_p95, f"{number(row['ours'])} {row['unit']}", number(row["ours_p95"]), peer,
            row["unit"] if row["peer"] else "", row["goal"], "yes" if row["met"] else "NO", row["pairs"])


def promise(row):
    peers = ", ".join(f"{name} {word}" for name, word in row["peers"].items() if word != "-") or "-"
    return row["promise"], row["what"], row["trials"], row["failures"], row["worst"], peers


def borrowed(row):
    return row["suite"], row["what"], f"{row['passed']} of {row['trials']}", row["rest"] or "-"


TABLES = {
    "figures": ("docs/measurements.md", figure, ("figure", "ratio", "p95", "ours", "p95", "peer", "", "goal", "met", "n")),
    "promises": ("docs/promises.md", promise, ("promise", "what was tried", "trials", "failures", "worst", "peers' failures")),
    "borrowed": ("docs/promises.md", borrowed, ("suite", "test", "passed", "the rest")),
}


def line(words):
    return "| " + " | ".join(map(str, words)) + " |"


def table(kind, rows):
    """The lines of a table; the machines are told below it, by letter."""
    _, cells, head = TABLES[kind]
    machines = list(dict.fromkeys(row["machine"] for row in rows))
    place = lambda row: f"{row['date']}, {row['load']}, {chr(ord('A') + machines.index(row['machine']))}"
    yield line([*head, "date, load, machine"])
    yield line(["---"] * (len(head) + 1))
    yield from (line([*cells(row), place(row)]) for row in rows)
    yield ""
    yield from (f"Machine {chr(ord('A') + at)}: {words}." for at, words in enumerate(machines))


def written(text, kind, rows):
    """The page's text with that table."""
    begin = f"<!-- bench/tables.py writes this from bench/rows/{kind}.json -->"
    before, begun, rest = text.partition(begin)
    _, ended, after = rest.partition(END)
    assert begun and ended, f"the page has no place for {kind}"
    return "\n".join([before + begin, *table(kind, rows), END]) + after


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail where a page is not as it would be written")
    options = parser.parse_args()
    for kind, (page, _, _) in TABLES.items():
        page = ROOT / page
        text = written(page.read_text(), kind, json.loads((ROWS / f"{kind}.json").read_text()))
        if options.check and text != page.read_text():
            sys.exit(f"{page.relative_to(ROOT)} has another table than bench/rows/{kind}.json: run python bench/tables.py")
        if not options.check:
            page.write_text(text)


if __name__ == "__main__":
    main()
