#!/usr/bin/env python3
"""The fault bench: makes real faults, runs jobs into them under safelaunch, and prints what it made of each.

    bench.py [NAME...] [--jobs N] [--json FILE] [--bare]

    named    the cause that safelaunch named, and whether it is the right one; how sure it says to be
    seconds  from the start to the verdict on the first attempt (with --bare: to the end of the job, or until it was given up)
    healed   with which profile the job came through
    harm     bystanders that were killed, files that were deleted, processes that were left behind: must be none

--bare runs the same faults without safelaunch, for comparison. Each fault is a folder: see workbench.py.
"""

import argparse
import concurrent.futures
import importlib.util
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import uuid

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import workbench  # noqa: E402
from workbench import harness  # noqa: E402

DEADLINES = ["--init-timeout", "6s", "--collective-timeout", "6s", "--quiet-timeout", "3s", "--work-timeout", "8s"]
GIVEN_UP_AFTER = 120


def load(name):
    spec = importlib.util.spec_from_file_location(f"fault_{name}", HERE / name / "fault.py")
    fault = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fault)
    return fault


class Bystanders:
    """What must be there afterwards as it was before: another job's process, and a file that looks like NCCL's."""

    def __init__(self, environment):
        look = {**environment, "RANK": "1", "LOCAL_RANK": "1", "WORLD_SIZE": "2", "MASTER_PORT": "29500"}
        look.pop("SAFELAUNCH_TEST_MARK", None)
        self.process = subprocess.Popen([sys.executable, "-c", "input()", "examples/ddp/train.py"], env=look,
                                        stdin=subprocess.PIPE, start_new_session=True)
        self.file = pathlib.Path("/dev/shm", f"nccl-{uuid.uuid4().hex[:6]}")
        self.file.write_bytes(b"x")
        self.open_file = self.file.open()  # a fault may put another file system over the folder
        self.folder = os.open(self.file.parent, os.O_PATH | os.O_DIRECTORY)

    def harm(self):
        found = [] if self.process.poll() is None else ["a bystander was ended"]
        return found + (["a bystander's file was deleted"] if self.harm_to_file() else [])

    def harm_to_file(self):
        return os.fstat(self.open_file.fileno()).st_nlink == 0

    def clear(self):
        self.process.kill()
        self.process.communicate()
        if not self.harm_to_file():
            os.unlink(self.file.name, dir_fd=self.folder)
        self.open_file.close()
        os.close(self.folder)


def environment_of(folder, mark):
    keep = {name: value for name, value in os.environ.items()
            if not name.startswith(("SAFELAUNCH_", "PET_", "NCCL_", "MASTER_", "GLOO_"))}
    return {**keep, "PATH": f"{harness.BIN}:{keep.get('PATH', '')}", "XDG_STATE_HOME": f"{folder}/state",
            "OMP_NUM_THREADS": "1", "DS_ACCELERATOR": "cpu", "TORCH_EXTENSIONS_DIR": harness.extensions(), "SAFELAUNCH_TEST_MARK": mark}


def run_command(words, bench):
    """Status, output, seconds; a job that does not end is ended."""
    began = time.monotonic()
    process = subprocess.Popen(words, env=bench.env, cwd=bench.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, start_new_session=True)
    try:
        out, _ = process.communicate(timeout=GIVEN_UP_AFTER)
        status = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        end_survivors(bench.env["SAFELAUNCH_TEST_MARK"])  # workers in sessions of their own hold the pipe
        out, status = process.communicate()[0], "silent"
    return status, out.decode(errors="replace"), time.monotonic() - began


def end_survivors(mark):
    left = harness.processes_with(mark)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    return left


def run_bare(fault, bench, mark):
    if not hasattr(fault, "command"):
        return {"skipped": "only the doctor is asked, no job is run"}
    words = fault.command(bench)
    if "--nproc-per-node" in words[:4]:
        return {"skipped": "safelaunch itself starts its ranks"}
    words = words[words.index("--") + 1:] if "--" in words[:4] else words
    status, out, seconds = run_command(words, bench)
    left = end_survivors(mark) if status != "silent" else []
    return {"status": status, "seconds": seconds, "harm": [f"{len(left)} processes left"] if left else [], "output": out[-2000:]}


def run_doctor(bench):
    status, out, seconds = run_command([harness.SAFELAUNCH, "doctor", "--json", *bench.options], bench)
    findings = json.loads(out)["findings"]
    return {"status": status, "seconds": seconds, "named": [finding["id"] for finding in findings], "output": out}


def blocking_findings(directory):
    events = [json.loads(line) for line in (directory / "events.jsonl").read_text().splitlines()]
    return [event["id"] for event in events if event["e"] == "finding" and event["severity"].startswith("block")]


def run_safelaunch(fault, bench):
    directory = bench.folder / "run"
    only = [] if getattr(fault, "HEALED_BY", None) else ["--only"]
    options = [*DEADLINES, *only, *getattr(fault, "OPTIONS", ()), *bench.options]
    status, out, seconds = run_command([harness.SAFELAUNCH, "--run-dir", str(directory), *options, *fault.command(bench)], bench)
    result = {"status": status, "seconds": seconds, "named": [], "output": out}
    outcome = directory / "outcome.json"
    if not outcome.exists():
        return result
    attempts = json.loads(outcome.read_text())["attempts"]
    causes = [attempt["cause"] for attempt in attempts if "cause" in attempt]
    if attempts:
        result["seconds"] = attempts[0]["seconds"]
    if not attempts:  # what blocks is told before any attempt
        result["named"] = blocking_findings(directory)
    if causes:
        result.update(named=[causes[0]["id"]], certainty=causes[0]["certainty"], text=causes[0]["explanation"])
    if status == 0:
        result["healed"] = attempts[-1]["profile"] if len(attempts) > 1 else None
    return result


def judge(fault, result):
    """Whether the right cause was named, and the job healed as it can be."""
    expected = fault.EXPECTED
    named = result.get("named", [])
    result["right"] = not named if expected is None else any(cause in expected for cause in named)
    healed_by = getattr(fault, "HEALED_BY", None)
    if healed_by:
        result["healed_right"] = result["status"] == 0 and healed_by in ("port", result.get("healed"))
    elif expected is None:
        result["healed_right"] = result["status"] == 0
    return result


def run_one(name, bare):
    fault = load(name)
    missing = [module for module in getattr(fault, "NEEDS", ()) if importlib.util.find_spec(module) is None]
    if missing:
        return {"skipped": f"this Python has no {', '.join(missing)}"}
    mark = uuid.uuid4().hex
    with tempfile.TemporaryDirectory(prefix="safelaunch-fault-") as folder:
        bench = workbench.Bench(folder, environment_of(folder, mark))
        bystanders = Bystanders(bench.env)
        try:
            if hasattr(fault, "make"):
                fault.make(bench)
            if bare:
                return run_bare(fault, bench, mark)
            result = run_doctor(bench) if getattr(fault, "VERB", "") == "doctor" else run_safelaunch(fault, bench)
            ours = {process.pid for process in bench.standing}
            left = [pid for pid in harness.processes_with(mark) if pid not in ours]
            harm = bystanders.harm() + ([f"{len(left)} processes left behind"] if left else [])
            return judge(fault, {**result, "harm": harm})
        except workbench.Impossible as reason:
            return {"skipped": str(reason)}
        finally:
            bench.clear()
            bystanders.clear()
            end_survivors(mark)


def run_apart(name, bare):
    """In a process of its own: a fault may enter namespaces, and change limits."""
    words = [sys.executable, __file__, "--one", name, *(["--bare"] if bare else [])]
    done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    try:
        return {"fault": name, **json.loads(done.stdout.splitlines()[-1])}
    except (IndexError, ValueError):
        return {"fault": name, "right": False, "harm": [], "broken": (done.stderr or done.stdout)[-2000:]}


def row(result):
    if "skipped" in result or "broken" in result:
        return f"{result['fault']:34} {'skipped: ' + result['skipped'] if 'skipped' in result else 'BROKEN: ' + result['broken']}"
    if "named" not in result:
        return f"{result['fault']:34} status {result['status']}  {result['seconds']:6.1f} s  {' '.join(result['harm'])}"
    named = ", ".join(result["named"]) or "-"
    verdict = "right" if result["right"] else "WRONG"
    healed = {None: "", True: f"healed ({result.get('healed') or 'port'})" if result["named"] else "", False: "NOT HEALED"}[result.get("healed_right")]
    return (f"{result['fault']:34} {verdict:5} {named:24.24} {result.get('certainty', ''):10} {result['seconds']:6.1f} s  "
            f"{str(result['status']):>4}  {healed:26} {'; '.join(result['harm'])}")


def summary(results):
    done = [result for result in results if "named" in result]
    faults = [result for result in done if load(result["fault"]).EXPECTED is not None]
    healthy = [result for result in done if result not in faults]
    right = sum(result["right"] for result in faults)
    healed = [result for result in faults if "healed_right" in result]
    return (f"{right} of {len(faults)} faults named right ({100 * right / max(1, len(faults)):.0f} %), "
            f"{sum(r['healed_right'] for r in healed)} of {len(healed)} healed, "
            f"{sum(bool(r['harm']) for r in done)} harmed, {sum(not r['right'] for r in healthy)} false alarms on {len(healthy)} healthy jobs, "
            f"{len(results) - len(done)} not run")


def all_is_well(results):
    return all("skipped" in r or (r.get("right") and not r["harm"] and r.get("healed_right", True)) for r in results)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--bare", action="store_true")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        return print(json.dumps(run_one(arguments.one, arguments.bare)))
    names = arguments.names or sorted(path.parent.name for path in HERE.glob("*/fault.py"))
    results = []
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for result in pool.map(lambda name: run_apart(name, arguments.bare), names):
            results.append(result)
            print(row(result), flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1))
    if not arguments.bare:
        print(summary(results))
        sys.exit(0 if all_is_well(results) else 1)


if __name__ == "__main__":
    main()
