"""P17 and P18: clocks that jump, halves that are stopped, and a host where little can be read or written."""

import json
import os
import pathlib
import shutil
import signal
import sys
import time

from harness import ROOT, children_of
from promises.p_lines import small_disk
from promises.tries import Untried, expect, tries

LIGHT_WORKER = [sys.executable, "-S", str(ROOT / "tests/integration/light_worker.py")]
DEADLINE, STOPPED = 4, 6
SHORT = [word for name in ("init", "collective", "quiet", "stopped") for word in (f"--{name}-timeout", f"{DEADLINE}s")]


def _expect_healthy(scene, run):
    status, out, err = run
    expect(status == 0 and b"ranks met" in out, f"status {status}: {err[-300:]!r}")
    (outcome,) = scene.records("outcome.json")
    expect(len(json.loads(outcome.read_text())["attempts"]) == 1, "it was started again")
    times = [json.loads(line)["t"] for line in scene.records("events.jsonl")[0].read_text().splitlines()]
    expect(times == sorted(times), "the times of the events are not in order")
    events = [json.loads(line)["e"] for path in scene.records("events.jsonl") for line in path.read_text().splitlines()]
    expect("verdict" not in events, "a healthy start was called hung")


@tries("P17", f"safelaunch is stopped for {STOPPED} s at a random moment of a healthy start whose deadlines are {DEADLINE} s: false alarms",
       4, 500)
def stopped(scene, number, dice):
    process = scene.start([*LIGHT_WORKER, number], ranks=2, options=SHORT)
    time.sleep(dice.uniform(0.1, 2.5))
    halves = [*children_of(process.pid), process.pid]
    chosen = halves[:1] if dice.random() < 0.5 else halves
    for pid in chosen:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(STOPPED)
    for pid in chosen:
        os.kill(pid, signal.SIGCONT)
    _expect_healthy(scene, scene.finish(process))


@tries("P17", "clocks up to a year ahead (time namespace): a healthy start is healthy, its events are in order", 5, 200)
def other_clocks(scene, number, dice):
    if os.geteuid():
        raise Untried("only root may make a time namespace")
    year = 365 * 86400
    within = ["unshare", "-T", "-f", "--monotonic", str(dice.randint(0, year)), "--boottime", str(dice.randint(0, year))]
    _expect_healthy(scene, scene.run(LIGHT_WORKER, ranks=2, within=within))


LEAVES = "setsid sleep 600 >/dev/null 2>&1 & echo trained; exit 7"


def _expect_ends_as_ever(scene, **how):
    status, out, err = scene.run(["sh", "-c", LEAVES], ranks=2, **how)
    expect((status, out) == (7, b"trained\n" * 2) or (status == 7 and out == b"trained\n"), f"status {status}, {out!r}: {err[-300:]!r}")
    scene.gone(2)


POOR = {"HOME is not there": {"HOME": "/proc/nowhere"}, "HOME cannot be written": {"HOME": "/proc"},
        "TMPDIR is not there": {"TMPDIR": "/proc/nowhere"},
        "no state can be kept": {"XDG_STATE_HOME": "/proc/state", "TMPDIR": "/proc/nowhere"}, "no HOME": {"HOME": ""}}


@tries("P18", "HOME, TMPDIR, the state's folder are missing or cannot be written: the job ends as ever, nothing is left", len(POOR), 100)
def poor_folders(scene, number, _):
    name = list(POOR)[number % len(POOR)]
    try:
        _expect_ends_as_ever(scene, env=scene.environment(**POOR[name]))
    except AssertionError as wrong:
        raise AssertionError(f"{name}: {wrong}") from None


@tries("P18", "/dev/shm of 64 KiB: `doctor` names it; the job ends as ever, nothing is left", 4, 100)
def small_shared_memory(scene, number, _):
    within = small_disk("/dev/shm", "64k")
    if number % 2:
        return _expect_ends_as_ever(scene, within=within)
    doctor = scene.start([], within=[*within, scene.launcher.program, "doctor"])
    told = b"".join(scene.finish(doctor)[1:])
    expect(b"/dev/shm has" in told or b"small-dev-shm" in told, f"doctor does not name it: {told!r}")


HIDDEN = 'mount -t proc -o hidepid=invisible proc /proc || exit 77; exec setpriv --reuid 65534 --regid 65534 --clear-groups "$@"'


@tries("P18", "/proc hides the processes of others (hidepid), the user is nobody: the job ends as ever, nothing is left", 3, 100)
def hidden_processes(scene, _, __):
    if os.geteuid():
        raise Untried("only root may mount")
    program = scene.place / "safelaunch"
    if not program.exists():
        shutil.copy(scene.launcher.program, program)
        program.chmod(0o755)
    for folder in (scene.folder, *scene.folder.iterdir()):
        os.chown(folder, 65534, 65534)
    job = [str(program), "--nproc-per-node", "2", "--", "sh", "-c", LEAVES]
    process = scene.start([], within=["unshare", "-m", "sh", "-c", HIDDEN, "hidden", *job],
                          env=scene.environment(HOME=str(scene.work)))
    status, out, err = scene.finish(process)
    expect(status == 7 and b"trained" in out, f"status {status}, {out!r}: {err[-300:]!r}")
    scene.gone(2)
    expect(pathlib.Path(scene.folder / "state/safelaunch").exists(), "no record was kept")
