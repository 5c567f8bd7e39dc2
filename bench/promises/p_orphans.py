"""P1 and P3: nothing of the job outlives its launcher, however it ends, and nobody waits to be reaped."""

import os
import pathlib
import signal
import time

from harness import children_of
from promises.scene import INITS, LAUNCHERS, PYTHON
from promises.tries import Untried, expect, tries

READY = "open(f'ready-{os.getpid()}', 'w').close()\n"
PAUSE = READY + "\nwhile True: time.sleep(600)\n"
IGNORE = "for one in (1, 2, 3, 15): signal.signal(one, signal.SIG_IGN)\n"
# What a rank may leave or be; each says that it is ready.
SHAPES = {
    "plain": PAUSE,
    "a daemon with a session of its own": "os.setsid()\nif os.fork(): os._exit(0)\n" + PAUSE,
    "ignores TERM, INT, HUP": IGNORE + PAUSE,
    "stopped": READY + "os.kill(os.getpid(), signal.SIGSTOP)\n" + PAUSE,
    "stopped by a tracer": "if os.fork() == 0:\n    libc.ptrace(0, 0, 0, 0)\n    os.kill(os.getpid(), signal.SIGSTOP)\n" + PAUSE,
    "forks 500 times a second": IGNORE + READY + "end = time.monotonic() + 20\nwhile time.monotonic() < end:\n"
                                "    if os.fork(): os._exit(0)\n    os.setsid()\n    time.sleep(0.002)\n",
    "waits in vfork": READY + "libc.vfork()\nwhile True: libc.pause()\n",
    "a child holds the pipe of the log": "if os.fork(): os._exit(0)\nos.setsid()\n" + IGNORE + PAUSE,
    "a child of another user": "if os.fork() == 0:\n" + "    os.setuid(65534)\n    os.open('ready-other', os.O_CREAT)\n" + PAUSE,
}
SHAPE = "import ctypes, os, signal, sys, time\nlibc = ctypes.CDLL(None)\n"
# Starts two of a shape, waits for them, and then for its own end.
JOB = """
import os, subprocess, sys, time
for _ in range(2): subprocess.Popen([sys.executable, "-S", "-c", sys.argv[1]])
while sum(name.startswith("ready-") for name in os.listdir(".")) < 2: time.sleep(0.005)
open("up", "w").close()
while not os.path.exists("go"): time.sleep(0.005)
sys.exit(int(open("go").read()))
"""


def _half(process, other):
    halves = children_of(process.pid)
    return halves[0] if other and halves else process.pid


ENDINGS = {
    "success": lambda scene, process: (scene.work / "go").write_text("0"),
    "crash": lambda scene, process: (scene.work / "go").write_text("3"),
    "TERM": lambda scene, process: process.terminate(),
    "INT twice": lambda scene, process: (process.send_signal(signal.SIGINT), time.sleep(0.1), process.send_signal(signal.SIGINT)),
    "HUP": lambda scene, process: process.send_signal(signal.SIGHUP),
    "SIGKILL": lambda scene, process: process.kill(),
    "SIGKILL of the other half": lambda scene, process: os.kill(_half(process, other=True), signal.SIGKILL),
}
PAIRS = [(shape, ending) for shape in SHAPES for ending in ENDINGS]


@tries("P1", f"{len(SHAPES)} shapes of workers x {len(ENDINGS)} ways to end: survivors 1 s later", len(PAIRS), 10_000, "s", (*INITS, *LAUNCHERS))
def no_orphan(scene, number, _):
    shape, ending = PAIRS[number * 8 % len(PAIRS)]  # a few trials see other shapes and other endings each
    if shape.endswith("another user") and os.geteuid():
        raise Untried("only root can be two users")
    scene.work.chmod(0o777)
    process = scene.start([*PYTHON, JOB, SHAPE + SHAPES[shape]], options=("--grace", "300ms"))
    scene.until((scene.work / "up").exists, f"the workers of the shape {shape!r}")
    ENDINGS[ending](scene, process)
    try:
        process.communicate(timeout=10)
        return scene.gone(1)
    except Exception as left:
        raise AssertionError(f"{shape}, {ending}: {left}") from None


MOMENT = "setsid sh -c 'sleep 600' & setsid sleep 600 & sleep 600"


@tries("P1", "SIGKILL to a half of safelaunch at a random moment of its start: survivors 1 s later", 60, 10_000, "s")
def killed_at_any_moment(scene, _, dice):
    process = scene.start(["sh", "-c", MOMENT], ranks=2)
    time.sleep(0.12 * dice.random())
    try:
        os.kill(_half(process, dice.random() < 0.5), signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.communicate(timeout=10)
    return scene.gone(1)


ORPHANS = """
import os, random, time
for _ in range(100):
    if os.fork() == 0:
        if os.fork() == 0: time.sleep(random.random())
        os._exit(0)
    os.wait()
open("ready-0", "w").close()
time.sleep(1.5)
"""


def _zombies_below(pids):
    """The zombies whose parent is one of these."""
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = path.read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if state == "Z" and int(parent) in pids:
            yield int(path.parent.name)


@tries("P3", "100 orphans that end at random: the oldest that waited to be reaped", 3, 50, "ms", ("tini",))
def no_zombies(scene, _, __):
    process = scene.start([*PYTHON, ORPHANS], start_new_session=True)
    scene.until(lambda: (scene.work / "ready-0").exists() or process.poll() is not None, "the orphans")
    halves = {process.pid, *(children_of(process.pid) if scene.launcher.name == "safelaunch" else ())}
    first_seen, oldest = {}, 0.0
    while process.poll() is None:
        now = time.monotonic()
        first_seen = {pid: first_seen.get(pid, now) for pid in _zombies_below(halves)}
        oldest = max([oldest, *(now - since for since in first_seen.values())])
        time.sleep(0.01)
    expect(oldest <= 0.1, f"a zombie waited for {1e3 * oldest:.0f} ms")
    return 1e3 * oldest
