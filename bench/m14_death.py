"""M14, launcher death: from SIGKILL to safelaunch at a random moment to the end of its last descendant."""

import math
import os
import pathlib
import random
import select
import signal
import subprocess
import time

from figures import Row, percentile

# What outlives a launcher elsewhere: workers that ignore TERM, and daemons with a session of their own.
JOB = 'trap "" TERM; (setsid sleep 1000 &) ; sleep 1000'
WORKERS = 4
PATIENCE = 10.0
TRIALS_PER_PAIR = 10


def _children(pid):
    try:
        return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def _killed(argv, bench, victim_of, after):
    """Seconds until nobody of the tree is left; None if somebody still is after PATIENCE.

    Every descendant holds a copy of a pipe's write end, so the kernel itself tells when the last is gone.
    """
    read_end, write_end = os.pipe()
    process = subprocess.Popen(argv, env=bench.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, cwd=bench.folder, pass_fds=[write_end])
    os.close(write_end)
    time.sleep(after)
    victim = victim_of(process.pid)
    began = time.monotonic()
    os.kill(victim, signal.SIGKILL)
    gone = bool(select.select([read_end], [], [], PATIENCE)[0])
    seconds = time.monotonic() - began
    os.close(read_end)
    process.wait()
    return seconds if gone else None


def _itself(pid):
    return pid


def _other_half(pid):
    children = _children(pid)
    return children[0] if children else pid


def _left_by_torchrun(bench):
    """How many processes of the job live on PATIENCE seconds after torchrun was killed; they are ended."""
    mark = f"BENCH_FOLDER={bench.fresh_folder('torchrun')}"
    environment = bench.environment(BENCH_FOLDER=mark.partition("=")[2])
    process = subprocess.Popen(bench.torchrun(WORKERS, "--no-python", "sh", "-c", JOB), env=environment, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=bench.folder)
    while len(_marked(mark)) < 1 + 3 * WORKERS:  # torchrun, and of each worker a shell, its sleep and its daemon
        time.sleep(0.1)
    process.kill()
    process.wait()
    time.sleep(PATIENCE)
    left = _marked(mark)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    return len(left)


def _marked(mark):
    """Pids of the live processes whose environment has the mark."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def measure(bench):
    argv = [bench.safelaunch, "--no-preflight", "--nproc-per-node", str(WORKERS), "--", "sh", "-c", JOB]
    chance = random.Random(14)
    left_elsewhere = _left_by_torchrun(bench) if bench.torch_python else 0
    peer = dict(peer=f"torchrun, which leaves {left_elsewhere}:", peers=math.inf) if left_elsewhere else {}
    rows = []
    for name, victim in (("the process that the user sees", _itself), ("its other half", _other_half)):
        trials = [_killed(argv, bench, victim, chance.uniform(0, 0.25)) for _ in range(bench.pairs * TRIALS_PER_PAIR)]
        left = sum(1 for seconds in trials if seconds is None)
        times = [seconds * 1e3 for seconds in trials if seconds is not None]
        rows.append(Row(figure="M14", what=f"SIGKILL to {name}: until the last is gone; {left} survivors", unit="ms",
                        goal="p99 <= 100 ms, 0 survivors", met=left == 0 and percentile(times, 0.99) <= 100,
                        ours=percentile(times, 0.5), ours_p95=percentile(times, 0.95), pairs=len(trials), **peer))
    return rows
