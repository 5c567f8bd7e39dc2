"""M9, the end of a big tree: from the second Ctrl-C to the end of the last of 1,000 descendants that ignore TERM."""

import os
import select
import shutil
import signal
import subprocess
import sys
import time

from figures import alone, compare, in_turns

WORKERS, CHILDREN = 4, 250
# Half of them in sessions of their own. Each holds the write end of a pipe: the kernel tells when the last has gone.
WORKER = f"""
import os, signal
for name in ("SIGTERM", "SIGINT", "SIGHUP"): signal.signal(getattr(signal, name), signal.SIG_IGN)
for child in range({CHILDREN} - 1):
    if os.fork() == 0:
        if child % 2: os.setsid()
        signal.pause()
os.write(int(os.environ["READY"]), b".")
signal.pause()
"""
PATIENCE = 60


def _until_gone(argv, bench, end):
    """Milliseconds from the order to the end of the last."""
    ready, says = os.pipe()
    alive, holds = os.pipe()
    process = subprocess.Popen(argv, env=bench.environment(READY=str(says)), cwd=bench.folder, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, pass_fds=[says, holds])
    os.close(says), os.close(holds)
    for _ in range(WORKERS):
        os.read(ready, 1)
    began = end(process)
    gone = bool(select.select([alive], [], [], PATIENCE)[0])
    seconds = time.monotonic() - began
    process.wait()
    os.close(ready), os.close(alive)
    assert gone, "somebody is left"
    return seconds * 1e3


def _twice(process):
    process.send_signal(signal.SIGINT)
    time.sleep(0.2)  # the first is told, and everybody ignores it
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    return began


def _kill(process):
    began = time.monotonic()
    process.kill()  # unshare --kill-child: the kernel ends the namespace with its first process
    return began


def measure(bench):
    worker = [sys.executable, "-S", "-c", WORKER]
    ours = [bench.safelaunch, "--nproc-per-node", str(WORKERS), "--", *worker]
    words = dict(figure="M9", what=f"second Ctrl-C at {WORKERS * CHILDREN:,} descendants that ignore TERM: until the last is gone", unit="ms")
    goal = "<= 1.25x the kernel's own end of a pid namespace"
    loop = f'for i in $(seq {WORKERS}); do "$@" & done; wait'
    theirs = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child", "sh", "-c", loop, "sh", *worker]
    probe = subprocess.run([*theirs[:6], "true"], stderr=subprocess.DEVNULL) if shutil.which("unshare") else None
    pairs = max(3, bench.pairs // 3)
    if probe is None or probe.returncode != 0:
        values = [_until_gone(ours, bench, _twice) for _ in range(pairs)]
        return [alone(values, True, goal="0 survivors (no namespaces here to compare with)", **words)]
    turns = in_turns(pairs, {"safelaunch": lambda: _until_gone(ours, bench, _twice), "kernel": lambda: _until_gone(theirs, bench, _kill)})
    return [compare(turns, "safelaunch", "kernel", peer="end of a pid namespace", goal=goal, limit=1.25, **words)]
