"""A cgroup leaves rank 0 a few percent of a CPU."""
import os
import pathlib
import uuid

from workbench import Impossible

OPTIONS = ["--init-timeout", "15s"]
FOLDERS = [("/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "5000"), ("/sys/fs/cgroup", "cpu.max", "5000 100000")]


def make(bench):
    for folder, file, quota in FOLDERS:
        group = pathlib.Path(folder, f"safelaunch-bench-{uuid.uuid4().hex[:8]}")
        try:
            group.mkdir()
        except OSError:
            continue
        if (group / file).exists():
            (group / file).write_text(quota)
            bench.undo.append(lambda: os.rmdir(group))
            bench.env["QUOTA"] = str(group / "cgroup.procs")
            return
        group.rmdir()
    raise Impossible("no cgroup with a quota can be made here")


def command(bench):
    return bench.train("""
import torch
if RANK == 0:
    open(os.environ["QUOTA"], "w").write(str(os.getpid()))
    before = time.process_time()
    while time.process_time() - before < 0.9: sum(range(1000))
    group = os.path.dirname(os.environ["QUOTA"])
    open(os.path.join(os.path.dirname(group), "cgroup.procs"), "w").write(str(os.getpid()))
""")
