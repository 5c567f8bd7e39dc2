#!/usr/bin/env python3
"""Runs the tests that dumb-init and tini have of themselves with safelaunch in their place, and prints a table.

    git clone https://github.com/Yelp/dumb-init; git clone https://github.com/krallin/tini
    python bench/borrowed.py --dumb-init dumb-init --tini tini [--json FILE]

It needs pytest, pytest-timeout, psutil and a C compiler. SAFELAUNCH_BIN names the program; else it is the one in PATH. Nothing
is written to their folders. The status is 0 only where each test passed, or is one of those that do not apply.
"""

import argparse
import ast
import collections
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/integration"))
if "SAFELAUNCH_BIN" not in os.environ:
    os.environ["SAFELAUNCH_BIN"] = shutil.which("safelaunch") or sys.exit("there is no safelaunch in PATH; SAFELAUNCH_BIN may name it")

from promises.scene import Launcher, Scene, fresh_place, own_processes  # noqa: E402
from tables import keep, table, taken  # noqa: E402

# In their place. What some of their options ask for it does by itself, or not at all: then the test tells.
STAND_IN = """#!/bin/sh
while :; do
  case "$1" in
    -[ep]) shift 2 ;;
    -[a-z]*|--) shift ;;
    *) exec '{program}' -- "$@" ;;
  esac
done
"""
# Where their tests count processes of a launcher that is one: safelaunch is two.
TWO_HALVES = {"dumb-init/tests/child_processes_test.py": ("living_pids(pid_tree(os.getpid()))) == 6",
                                                          "living_pids(pid_tree(os.getpid()))) == 7"),
              "tini/test/run_inner_tests.py": ("children(recursive=True)) == 2", "children(recursive=True)) == 3")}
WORDS = "compares what dumb-init says of itself"
OPTION = "an option that safelaunch does not have"
# Why a test, or some of its trials, does not apply.
REST = {
}


@dataclasses.dataclass
class Row:
    suite: str
    what: str
    passed: int
    trials: int
    rest: str


def copy_of(folder, scene, name):
    """A copy of a suite, with a program of its name first in PATH."""
    shutil.copytree(folder, scene.folder / name)
    for path, (one, other) in TWO_HALVES.items():
        if path.startswith(name):
            text = (scene.folder / path).read_text()
            assert one in text, f"{path} is not the one that this was written for"
            (scene.folder / path).write_text(text.replace(one, other))
    stand_in = scene.folder / "tmp" / name
    stand_in.write_text(STAND_IN.format(program=scene.launcher.program))
    stand_in.chmod(0o755)
    return scene.folder / name


def dumb_init(folder, scene):
    """{test: [whether it passed, …]}"""
    suite, results = copy_of(folder, scene, "dumb-init"), scene.folder / "results.xml"
    scene.run([], within=[sys.executable, "-m", "pytest", "-q", "--timeout", "20", f"--junitxml={results}", "tests"], cwd=suite, timeout=1800,
              env=scene.environment(PATH=f"{scene.folder / 'tmp'}:{os.environ['PATH']}"))
    ends = collections.defaultdict(list)
    for case in xml.etree.ElementTree.parse(results).iter("testcase"):
        ends[case.get("name").partition("[")[0]].append(case.find("failure") is None and case.find("error") is None)
    return ends


# tini's tests are one script, which ends at the first assertion that fails. Here each assertion is noted with the test's title.
NOTES = """
import re, sys
title = ""
def note(holds):
    sys.stderr.write("NOTE %s: %d\\n" % (title, bool(holds)))
def print(*words):
    global title
    if match := re.match("[Rr]unning (.*? test)", words[0]): title = match[1]
"""
MODULES = {"prctl.py": "import ctypes\ndef set_child_subreaper(on): ctypes.CDLL(None).prctl(36, on)\n",
           "bitmap.py": "class BitMap(str):\n    def fromstring(bits): return BitMap(bits)\n"
                        "    def nonzero(self): return [at for at, bit in enumerate(reversed(self)) if bit == '1']\n"}


class Noted(ast.NodeTransformer):
    def visit_Assert(self, node):
        return ast.copy_location(ast.Expr(ast.Call(ast.Name("note", ast.Load()), [node.test], [])), node)


def tini(folder, scene):
    """{test: [whether it passed, …]}"""
    suite, tools = copy_of(folder, scene, "tini"), scene.folder / "tmp"
    for name, text in MODULES.items():
        (tools / name).write_text(text)
    subprocess.run(["cc", "-o", tools / "sigconf-test", suite / "test/sigconf/sigconf-test.c"], check=True)
    script = ast.fix_missing_locations(Noted().visit(ast.parse((suite / "test/run_inner_tests.py").read_text())))
    words = [sys.executable, "-c", NOTES + ast.unparse(script)]
    said = scene.run([], within=words, timeout=1800, env=scene.environment(
        SOURCE_DIR=str(suite), BUILD_DIR=str(tools), FORCE_SUBREAPER="1", PYTHONPATH=str(tools)))[2].decode()
    ends = collections.defaultdict(list)
    for title, holds in re.findall(r"^NOTE (.*): ([01])$", said, re.MULTILINE):
        ends[title].append(holds == "1")
    assert "parent death signal test" in ends, f"the script has not come to its end: {said[-2000:]}"
    return ends


def rows_of(suite, ends):
    for what, held in ends.items():
        yield Row(suite, what, sum(held), len(held), "" if all(held) else REST.get(f"{suite} {what}", "FAILED"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dumb-init", type=pathlib.Path, help="the folder of its sources")
    parser.add_argument("--tini", type=pathlib.Path, help="the folder of its sources")
    parser.add_argument("--json", help="put the rows into this file, in place of its older ones")
    options = parser.parse_args()
    own_processes()
    ours, place, rows = Launcher("safelaunch", os.path.abspath(os.environ["SAFELAUNCH_BIN"])), fresh_place(), []
    try:
        for suite, run, folder in (("dumb-init", dumb_init, options.dumb_init), ("tini", tini, options.tini)):
            if folder:
                with Scene(place, ours) as scene:
                    rows += map(taken, rows_of(suite, run(folder.resolve(), scene)))
    finally:
        shutil.rmtree(place, ignore_errors=True)
    print(*table("borrowed", rows), sep="\n")
    if options.json:
        suites = {row["suite"] for row in rows}
        keep(options.json, rows, lambda row: row["suite"] in suites, lambda row: row["suite"])
    sys.exit(any(row["rest"] == "FAILED" for row in rows))


if __name__ == "__main__":
    main()
