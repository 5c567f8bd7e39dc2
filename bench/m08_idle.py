"""M8, idle cost: what watching a job costs once its start is proven."""

import pathlib
import subprocess
import time

from figures import Row
from light_job import WORKER

WORKERS = 4


def _tree(pid):
    """The launcher's own processes: itself, and the half of it that it has forked off, which has the same words."""
    words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid] + [int(child) for child in children if pathlib.Path(f"/proc/{child}/cmdline").read_bytes() == words]


def _switches_and_cpu(pid):
    """Of all threads: context switches, and nanoseconds on a CPU."""
    switches = cpu = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        status = dict(line.split(":\t") for line in (task / "status").read_text().splitlines() if "ctxt" in line)
        switches += sum(int(count) for count in status.values())
        cpu += int((task / "schedstat").read_text().split()[0])
    return switches, cpu


def _memory(pid):
    """RSS and USS in MB."""
    rollup = {line.split(":")[0]: int(line.split()[1]) for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
              if line.endswith("kB")}
    return rollup["Rss"] / 1024, (rollup["Private_Clean"] + rollup["Private_Dirty"]) / 1024


def _idle(bench, argv):
    """{what: value} of one job that has started and now does nothing."""
    stamps = bench.fresh_folder("stamps")
    process = subprocess.Popen([*argv, *WORKER, "idle"], env=bench.environment(STAMPS=str(stamps)), stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=bench.folder)
    while len(list(stamps.glob("init-1-?"))) < WORKERS:
        time.sleep(0.05)
    time.sleep(3)  # the launch has died away
    own = _tree(process.pid)
    before = [_switches_and_cpu(pid) for pid in own]
    began = time.monotonic()
    time.sleep(bench.seconds)
    seconds = time.monotonic() - began
    after = [_switches_and_cpu(pid) for pid in own]
    memory = [_memory(pid) for pid in own]
    process.terminate()
    process.wait()
    return {"wake-ups": sum(b[0] - a[0] for a, b in zip(before, after)) / seconds,
            "cpu": sum(b[1] - a[1] for a, b in zip(before, after)) / seconds / 1e7,
            "rss": sum(rss for rss, _ in memory), "uss": sum(uss for _, uss in memory), "processes": len(own)}


# The figure, its unit, the most that is good, and the goal in words.
FIGURES = (("wake-ups", "/s", 0.05, "0 /s"), ("cpu", "%", 0.001, "<= 0.001 %"), ("rss", "MB", 3.0, "<= 3 MB"), ("uss", "MB", 1.0, "<= 1 MB"))


def measure(bench):
    ours = _idle(bench, [bench.safelaunch, "--nproc-per-node", str(WORKERS), "--"])
    theirs = _idle(bench, bench.torchrun(WORKERS, "--no-python")) if bench.torch_python else None
    rows = []
    for key, unit, limit, goal in FIGURES:
        row = Row(figure="M8", what=f"idle, {key}, its {ours['processes']} processes together", goal=goal, met=ours[key] <= limit,
                  unit=unit, ours=ours[key], ours_p95=ours[key], pairs=1)
        if theirs:
            row.peer, row.peers = "torchrun", theirs[key]
            row.ratio = row.ratio_p95 = ours[key] / theirs[key] if theirs[key] else None
        rows.append(row)
    return rows
