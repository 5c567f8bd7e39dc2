#!/usr/bin/env python3
"""The fault bench: real faults (tests/faults) and healthy programs (tests/healthy) under safelaunch, and what it made of each.

    bench.py [NAME...] [--only faults|healthy|quick] [--cuda] [--pty] [--jobs N] [--json FILE] [--bare] [--give-up-after SECONDS]

Of a fault:
    named    the cause that safelaunch named, and whether it is the right one; how sure it says to be
    seconds  from the start to the verdict on the first attempt (with --bare: to the end of the job, or until it was given up)
    healed   with which profile the job came through
Of a healthy program, which is run bare first:
    same     its exit status and its lines on stdout are the bare program's, and safelaunch said nothing of a hang or a fault
Of both:
    harm     bystanders that were killed, files that were deleted, processes that were left behind: must be none

--cuda runs the healthy programs on torch's CUDA build: NCCL on GPUs, which are doubles (tests/doubles/README.md).
--pty gives each healthy program a terminal of its own, and compares what stays on the screen and the terminal's modes.
--bare runs the same without safelaunch, for comparison. A job that has not ended after two minutes is given up: on a machine
that is busy with much else, --give-up-after gives it longer. Each fault, and each program, is a folder: see workbench.py.
"""

import argparse
import concurrent.futures
import importlib.util
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import faults  # noqa: E402
import healthy  # noqa: E402
import over_doubles  # noqa: E402
import running  # noqa: E402
import workbench  # noqa: E402

CORPORA = {"fault.py": (HERE, faults), "program.py": (HERE.parent / "healthy", healthy)}


def all_paths():
    return {path.parent.name: path for file, (folder, _) in CORPORA.items() for path in sorted(folder.glob(f"*/{file}"))}


def corpus_of(path):
    return CORPORA[path.name][1]


def load(path):
    spec = importlib.util.spec_from_file_location(f"bench_{path.parent.name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def out_of_place(module):
    """Why this is no program for the machine that the ranks have."""
    wants = getattr(module, "CUDA", None)
    if isinstance(wants, str):
        return wants if workbench.CUDA else None
    return "only GPUs have this: --cuda" if wants and not workbench.CUDA else None


def run_one(path, bare):
    module = load(path)
    if why := out_of_place(module):
        return {"skipped": why}
    missing = [name for name in getattr(module, "NEEDS", ()) if importlib.util.find_spec(name) is None]
    if missing:
        return {"skipped": f"this Python has no {', '.join(missing)}"}
    return corpus_of(path).run(module, bare)


def run_apart(path, bare):
    """In a process of its own: a fault may enter namespaces, and change limits."""
    python = over_doubles.PYTHON if workbench.CUDA else sys.executable
    words = [python, __file__, "--one", str(path), f"--give-up-after={running.GIVEN_UP_AFTER}",
             *(["--bare"] if bare else []), *(["--cuda"] if workbench.CUDA else []), *(["--pty"] if workbench.PTY else [])]
    done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    try:
        return {"name": path.parent.name, **json.loads(done.stdout.splitlines()[-1])}
    except (IndexError, ValueError):
        return {"name": path.parent.name, "broken": (done.stderr or done.stdout)[-2000:]}


def row(path, result):
    said = next((f"{key.upper() if key == 'broken' else key}: {result[key]}" for key in ("skipped", "broken") if key in result), None)
    return f"{result['name']:38} {said or corpus_of(path).row(result)}"


def summaries(results, paths, bare):
    for corpus in (faults, healthy):
        ours = [result for result in results if corpus_of(paths[result["name"]]) is corpus]
        if ours and not bare:
            not_run = [result["name"] for result in ours if "skipped" in result]
            broken = [result["name"] for result in ours if "broken" in result]
            yield (corpus.summary(ours) + (f"; {len(not_run)} skipped ({', '.join(not_run)})" if not_run else "")
                   + (f"; {len(broken)} BROKEN ({', '.join(broken)})" if broken else ""))


def is_quick(module):
    return getattr(module, "QUICK", False) and not out_of_place(module)


def chosen(arguments):
    paths = {name: path for name, path in all_paths().items() if not workbench.CUDA or corpus_of(path) is healthy}
    unknown = set(arguments.names) - set(paths)
    if unknown:
        sys.exit(f"there is no {', '.join(sorted(unknown))}")
    wanted = arguments.names or [name for name, path in paths.items() if {
        None: True, "faults": corpus_of(path) is faults, "healthy": corpus_of(path) is healthy,
        "quick": corpus_of(path) is healthy and is_quick(load(path))}[arguments.only]]
    return {name: paths[name] for name in wanted}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--only", choices=["faults", "healthy", "quick"])
    parser.add_argument("--cuda", action="store_true")
    parser.add_argument("--pty", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--bare", action="store_true")
    parser.add_argument("--give-up-after", type=int, default=running.GIVEN_UP_AFTER)
    parser.add_argument("--one", type=pathlib.Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    running.GIVEN_UP_AFTER = arguments.give_up_after
    workbench.CUDA, workbench.PTY = arguments.cuda, arguments.pty
    if arguments.one:
        return print(json.dumps(run_one(arguments.one, arguments.bare)))
    if arguments.cuda and (why := over_doubles.why_not()):
        print("skipped:", why)
        sys.exit(over_doubles.SKIPPED)
    paths = chosen(arguments)
    results = []
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for path, result in zip(paths.values(), pool.map(lambda path: run_apart(path, arguments.bare), paths.values())):
            results.append(result)
            print(row(path, result), flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1))
    print(*summaries(results, paths, arguments.bare), sep="\n")
    sys.exit(0 if arguments.bare or all("skipped" in result or result.get("well") for result in results) else 1)


if __name__ == "__main__":
    main()
