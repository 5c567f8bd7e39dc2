"""Runs ctest, gives tests that start processes a second try, and says in its last lines how each test ended.

    run.py [--leave-out LABEL REASON]... [--preset NAME | --test-dir FOLDER] [-- WORD OF CTEST...]
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

from judgement import judge, to_try_again
from results import FAILED, Result, read_results

RUNS_NOTHING = {"-N", "--show-only", "--print-labels", "--help", "--version"}


def options(words):
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--leave-out", nargs=2, action="append", default=[], metavar=("LABEL", "REASON"))
    parser.add_argument("--preset")
    parser.add_argument("--test-dir")
    parser.add_argument("words", nargs="*", metavar="WORD OF CTEST")
    return parser.parse_args(words)


def excluded_labels(words, left_out):
    """What ctest is to leave out as one expression, because of two it leaves out only what fits both; and the other words."""
    expressions, others, words = [f"^{label}$" for label, _ in left_out], [], iter(words)
    for word in words:
        if word in ("-LE", "--label-exclude"):
            expressions.append(next(words, ""))
        else:
            others.append(word)
    return (["--label-exclude", "|".join(expressions)] if expressions else []), others


def labels_by_name(ctest):
    """The labels of all tests that this command would run."""
    listing = subprocess.run([*ctest, "--show-only=json-v1"], stdout=subprocess.PIPE, check=True).stdout
    return {test["name"]: labels_of(test) for test in json.loads(listing)["tests"] if "name" in test}


def labels_of(test):
    return next((entry["value"] for entry in test.get("properties", ()) if entry["name"] == "LABELS"), [])


def run(ctest):
    """Its status, and the results by name."""
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "results.xml")
        # Without a limit ctest cuts off the end of a long output, where the reason of a skip stands.
        status = subprocess.run([*ctest, "--output-junit", file, "--test-output-truncation", "head",
                                 "--test-output-size-passed", "100000"]).returncode
        if not os.path.exists(file):
            return status, {}
        with open(file, encoding="utf-8", errors="replace") as text:
            return status, read_results(text.read())


def exactly(names):
    """A regular expression of CMake's for these names alone."""
    return "^(" + "|".join(re.sub(r"([][.*+?()|^$\\])", r"\\\1", name) for name in names) + ")$"


def main(arguments):
    where = ["ctest"] + (["--preset", arguments.preset] if arguments.preset else ["--test-dir", arguments.test_dir or "."])
    excluded, words = excluded_labels(arguments.words, arguments.leave_out)
    asked = [*where, *words]
    if any(word.partition("=")[0] in RUNS_NOTHING for word in words):
        return subprocess.run([*asked, *excluded]).returncode

    everything, labels = labels_by_name(asked), labels_by_name([*asked, *excluded])
    left_out = [(reason, [name for name in everything if name not in labels and label in everything[name]])
                for label, reason in arguments.leave_out]
    status, first = run([*asked, *excluded])
    for name in labels:
        first.setdefault(name, Result(name, FAILED, "it did not run"))
    again = to_try_again(first, labels)
    second = {}
    if again:
        print(f"\nOnce more, alone: {', '.join(again)}", flush=True)
        second = run([*where, "--output-on-failure", "--tests-regex", exactly(again), "--parallel", "1"])[1]

    judgement = judge(first, second, left_out)
    print("", *judgement.lines(), sep="\n", flush=True)
    if not first:
        return 1  # a run of nothing proves nothing
    if judgement.flaky or judgement.failed:
        return 0 if judgement.well else 1
    return status


if __name__ == "__main__":
    try:
        sys.exit(main(options(sys.argv[1:])))
    except KeyboardInterrupt:
        sys.exit(130)
