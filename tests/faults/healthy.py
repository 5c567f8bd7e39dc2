"""One healthy program: it is run bare and then under safelaunch with short deadlines, and both must be the same."""

import re
import shlex
import uuid

import at_a_terminal
import comparison
import running
import workbench
from workbench import Impossible, harness, place

DEADLINES = ["--init-timeout", "8s", "--collective-timeout", "8s", "--quiet-timeout", "5s", "--work-timeout", "60s",
             "--stopped-timeout", "5s"]


def launch(program, words, before, bench):
    """safelaunch stands before the whole command, or where the program's script has $SL."""
    if not getattr(program, "INSIDE", False):
        return [*before(["--run-dir", str(bench.record / "run")]), *words]
    bench.env["SL"] = shlex.join(before([]))
    return words


def records(bench):
    return [bench.record / "run", *sorted(bench.record.glob("state/safelaunch/runs/*"))]


def run_command(words, bench, person):
    if workbench.PTY:
        return at_a_terminal.run_command(words, bench, person, running.GIVEN_UP_AFTER)
    return running.run_command(words, bench, person=person)


def run_once(program, command, before=lambda options: []):
    """In a folder of its own: what one run leaves there is not there for the other."""
    mark = uuid.uuid4().hex
    with place(mark) as bench:
        bystanders = running.Bystanders(bench.env)
        try:
            if hasattr(program, "make"):
                program.make(bench)
            words = launch(program, command(bench), before, bench)
            done = run_command(words, bench, getattr(program, "PERSON", None))
            return {**done, "out": comparable(program, bench, done["out"]), "runs": comparison.runs_of(records(bench)),
                    "harm": bystanders.harm() + bench.left_behind()}
        finally:
            bench.clear()
            bystanders.clear()
            running.end_survivors(mark)


def comparable(program, bench, out):
    """Without the folder's path; and where a launcher prints times of its own, only the program's lines."""
    lines = re.compile(getattr(program, "LINES", ""))
    return "".join(line for line in out.replace(str(bench.folder), "FOLDER").splitlines(keepends=True) if lines.search(line))


def options_of(program):
    """NCCL's init waits for nobody: where gloo's ranks wait there, NCCL's wait in their first collective."""
    options = list(getattr(program, "OPTIONS", ()))
    if workbench.CUDA and "--init-timeout" in options:
        options += ["--collective-timeout", options[options.index("--init-timeout") + 1]]
    return options


def safelaunch(program):
    options = options_of(program)
    return lambda more: [harness.SAFELAUNCH, *more, *DEADLINES, "--only", *options, "--"]


def run(program, bare_only):
    try:
        bare = run_once(program, getattr(program, "bare", program.command))
        if bare["status"] != 0:
            return {"broken": f"bare: status {bare['status']}: {(bare['err'] or bare['out'])[:3000]}"}
        if bare_only:
            return {"bare": bare, "well": True}
        return judge(bare, run_once(program, program.command, safelaunch(program)))
    except Impossible as reason:
        return {"skipped": str(reason)}


def judge(bare, ours):
    found = comparison.differences(bare, ours)
    return {"bare": bare, "ours": ours, "differences": found, "harm": ours["harm"], "well": not found and not ours["harm"]}


def row(result):
    bare = f"bare {result['bare']['seconds']:5.1f} s"
    if "ours" not in result:
        return bare
    ours = result["ours"]
    return (f"{'FALSE ALARM' if result['differences'] else 'same':11} {bare}, ours {ours['seconds']:5.1f} s, "
            f"waited {comparison.waited(ours['runs']):4.1f} s  {'; '.join([*result['harm'], *result['differences']])}")


def summary(results):
    done = [result for result in results if "ours" in result]
    return (f"healthy programs: {sum(bool(result['differences']) for result in done)} false alarms of {len(done)}, "
            f"{sum(bool(result['harm']) for result in done)} harmed")
