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

from promises.scene import Scene, fresh_place, ours, own_processes  # noqa: E402
from tables import keep, table, taken  # noqa: E402

# In their place. What some of their options ask for it does by itself, or not at all: then the test tells.
STAND_IN = """#!/bin/sh
while :; do
  case "$1" in
    -[epr]) shift 2 ;;
    -[a-z]*|--) shift ;;
    *) exec '{program}' -- "$@" ;;
  esac
done
"""
# Where their tests count the processes of a launcher that is one: safelaunch is two. And where they end a process that must still
# be there: it kills what is left, and when one half is killed, all is. And a second is short for a Python on a busy machine.
EDITS = {
    "dumb-init/tests/child_processes_test.py": (
        ("len(living_pids(pid_tree(os.getpid()))) == 6", "len(living_pids(pid_tree(os.getpid()))) == 7"),
        ("testing.print_signals & sleep 1", "testing.print_signals & sleep 5"),
        ("os.kill(child_pid, signal.SIGKILL)", "kill_if_alive(child_pid)")),
    "dumb-init/testing/__init__.py": (("        os.kill(pid, signal.SIGKILL)\n\n\ndef", "        kill_if_alive(pid)\n\n\ndef"),),
    "tini/test/run_inner_tests.py": (("children(recursive=True)) == 2", "children(recursive=True)) == 3"),)}
WORDS = "dumb-init's own words"
NO_SETSID = "safelaunch has no DUMB_INIT_SETSID=0: nothing of a job outlives it, and Ctrl-Z stops all of it"
REWRITE = "safelaunch has no --rewrite"
INSISTS = "the second of INT and TERM kills (P4)"
# Why a test, or some of its trials, does not apply.
REST = {
    "dumb-init test_no_setsid_doesnt_signal_entire_group": NO_SETSID,
    "dumb-init test_processes_dont_receive_term_on_exit_if_no_setsid": NO_SETSID,
    "dumb-init test_shell_background_support_without_setsid": NO_SETSID,
    "dumb-init test_all_processes_receive_term_on_exit_if_setsid": "a CONT follows the TERM, for what is stopped; of two signals at "
                                                                   "once their printer tells the later one first",
    "dumb-init test_fails_nonzero_with_bad_exec": WORDS + "; the status is tried by P5",
    "dumb-init test_no_arguments_prints_usage": WORDS,
    "dumb-init test_exits_invalid_with_invalid_args": WORDS,
    "dumb-init test_help_message": WORDS,
    "dumb-init test_version_message": WORDS,
    "dumb-init test_verbose": WORDS,
    "dumb-init test_verbose_and_single_child": WORDS,
    "dumb-init test_rewrite_errors": REWRITE,
    "dumb-init test_proxies_signals": INSISTS,
    "dumb-init test_proxies_signals_with_rewrite": f"{REWRITE}; {INSISTS}",
    "dumb-init test_default_rewrites_can_be_overriden_with_setsid_enabled": REWRITE,
    "dumb-init test_ignored_signals_are_not_proxied": REWRITE,
    "dumb-init test_sighup_sigcont_ignored_if_was_session_leader": WORDS,
    "dumb-init test_working_directories": "safelaunch stays in the job's folder, where it looks for checkpoints and profiles",
    "tini exit code test": "safelaunch has no -e, which makes a status a success",
    "tini reaping display test": "safelaunch has no -w, which tells of each zombie",
    "tini process group test": "safelaunch passes a signal on to the command, not to its group",
    "tini zombie reaping failure test": "tini without -s reaps nothing; safelaunch always does (P3)",
    "tini parent death signal test": "safelaunch has no -p, a signal at the end of its own parent",
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
    for path, pairs in EDITS.items():
        if path.startswith(name):
            text = (scene.folder / path).read_text()
            for one, other in pairs:
                assert one in text, f"{path} is not the one that this was written for"
                text = text.replace(one, other)
            (scene.folder / path).write_text(text)
    stand_in = scene.folder / "tmp" / name
    stand_in.write_text(STAND_IN.format(program=scene.launcher.program))
    stand_in.chmod(0o755)
    return scene.folder / name


def path_of(scene):
    """The stand-ins, and the Python that has what the tests import."""
    return f"{scene.folder / 'tmp'}:{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"


def dumb_init(folder, scene):
    """{test: [whether it passed, …]}"""
    suite, results = copy_of(folder, scene, "dumb-init"), scene.folder / "results.xml"
    words = [sys.executable, "-m", "pytest", "-q", "--timeout", "20", f"--junitxml={results}", "tests"]
    # The kernel ignores a SIGTSTP in a process group above which its session has nobody.
    in_our_session = {"start_new_session": False, "preexec_fn": os.setpgrp}
    scene.run([], within=words, **in_our_session, cwd=suite, timeout=1800, env=scene.environment(PATH=path_of(scene)))
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
    """Its only `return` is that of a wait that has seen what it waited for."""

    def visit_Assert(self, node):
        return ast.Expr(ast.Call(ast.Name("note", ast.Load()), [node.test], []))

    def visit_Return(self, node):
        return [ast.Expr(ast.Call(ast.Name("note", ast.Load()), [ast.Constant(True)], [])), node]


def tini(folder, scene):
    """{test: [whether it passed, …]}"""
    suite, tools = copy_of(folder, scene, "tini"), scene.folder / "tmp"
    for name, text in MODULES.items():
        (tools / name).write_text(text)
    subprocess.run(["cc", "-o", tools / "sigconf-test", suite / "test/sigconf/sigconf-test.c"], check=True)
    script = ast.fix_missing_locations(Noted().visit(ast.parse((suite / "test/run_inner_tests.py").read_text())))
    words = [sys.executable, "-c", NOTES + ast.unparse(script)]
    said = scene.run([], within=words, timeout=1800, env=scene.environment(
        SOURCE_DIR=str(suite), BUILD_DIR=str(tools), FORCE_SUBREAPER="1", PYTHONPATH=str(tools), PATH=path_of(scene)))[2].decode()
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
    launcher, place, rows = ours(), fresh_place(), []
    try:
        for suite, run, folder in (("dumb-init", dumb_init, options.dumb_init), ("tini", tini, options.tini)):
            if folder:
                with Scene(place, launcher) as scene:
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
