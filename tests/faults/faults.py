"""One fault: the job is run into it under safelaunch, and what safelaunch made of it is judged."""

import json
import re
import uuid

import running
from workbench import Impossible, harness, place

DEADLINES = ["--init-timeout", "6s", "--collective-timeout", "6s", "--quiet-timeout", "3s", "--work-timeout", "8s", "--stopped-timeout", "5s"]


def run_bare(fault, bench, mark):
    if not hasattr(fault, "command"):
        return {"skipped": "only the doctor is asked, no job is run"}
    words = fault.command(bench)
    if "--nproc-per-node" in words[:4]:
        return {"skipped": "safelaunch itself starts its ranks"}
    words = words[words.index("--") + 1:] if "--" in words[:4] else words
    done = running.run_command(words, bench)
    left = running.end_survivors(mark) if done["status"] != "silent" else []
    return {**done, "harm": [f"{len(left)} processes left"] if left else []}


def run_doctor(bench):
    done = running.run_command([harness.SAFELAUNCH, "doctor", "--json", *bench.options], bench)
    return {**done, "named": [finding["id"] for finding in json.loads(done["out"])["findings"]]}


def blocking_findings(directory):
    events = [json.loads(line) for line in (directory / "events.jsonl").read_text().splitlines()]
    return [event["id"] for event in events if event["e"] == "finding" and event["severity"].startswith("block")]


def run_safelaunch(fault, bench):
    directory = bench.record / "run"
    only = [] if getattr(fault, "HEALED_BY", None) else ["--only"]
    words = fault.command(bench)  # which may add to bench.options
    options = [*DEADLINES, *only, *getattr(fault, "OPTIONS", ()), *bench.options]
    done = running.run_command([harness.SAFELAUNCH, "--run-dir", str(directory), *options, *words], bench)
    result = {**done, "named": []}
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
    if result["status"] == 0:
        result["healed"] = attempts[-1]["profile"] if len(attempts) > 1 else None
    return result


def judge(fault, result):
    """Whether the right cause was named, and the job healed as it can be."""
    expected = fault.EXPECTED
    named = result.get("named", [])
    result["unsaid"] = [pattern for pattern in getattr(fault, "SAYS", ()) if not re.search(pattern, result["err"])]
    result["right"] = not named if expected is None else any(cause in expected for cause in named) and not result["unsaid"]
    healed_by = getattr(fault, "HEALED_BY", None)
    if healed_by:
        result["healed_right"] = result["status"] == 0 and healed_by in ("port", result.get("healed"))
    elif expected is None:
        result["healed_right"] = result["status"] == 0
    return {**result, "well": result["right"] and not result["harm"] and result.get("healed_right", True)}


def run(fault, bare):
    mark = uuid.uuid4().hex
    with place(mark) as bench:
        bystanders = running.Bystanders(bench.env)
        try:
            if hasattr(fault, "make"):
                fault.make(bench)
            if bare:
                return run_bare(fault, bench, mark)
            result = run_doctor(bench) if getattr(fault, "VERB", "") == "doctor" else run_safelaunch(fault, bench)
            return judge(fault, {**result, "harm": bystanders.harm() + bench.left_behind()})
        except Impossible as reason:
            return {"skipped": str(reason)}
        finally:
            bench.clear()
            bystanders.clear()
            running.end_survivors(mark)


def row(result):
    if "named" not in result:
        return f"status {result['status']}  {result['seconds']:6.1f} s  {' '.join(result['harm'])}"
    named = ", ".join(result["named"]) or "-"
    unsaid = [f"not said: {pattern}" for pattern in result["unsaid"]]
    verdict = "right" if result["right"] else "WRONG"
    healed = {None: "", True: f"healed ({result.get('healed') or 'port'})", False: "NOT HEALED"}[result.get("healed_right")]
    return (f"{verdict:5} {named:24.24} {result.get('certainty', ''):10} {result['seconds']:6.1f} s  "
            f"{str(result['status']):>4}  {healed:26} {'; '.join(result['harm'] + unsaid)}")


def summary(results):
    done = [result for result in results if "named" in result]
    right = sum(result["right"] for result in done)
    healed = [result["healed_right"] for result in done if "healed_right" in result]
    return (f"faults: {right} of {len(done)} named right ({100 * right / max(1, len(done)):.0f} %), {sum(healed)} of {len(healed)} healed, "
            f"{sum(bool(result['harm']) for result in done)} harmed")
