"""The kernel kills rank 1: the job's cgroup has no memory left."""
import os
import pathlib

from workbench import Impossible

EXPECTED = ["host-oom"]
LIMIT = 700 << 20


def make(bench):
    for parent, file in ((pathlib.Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes"), (pathlib.Path("/sys/fs/cgroup"), "memory.max")):
        folder = parent / f"safelaunch-fault-{os.getpid()}"
        try:
            folder.mkdir()
            (folder / file).write_text(str(LIMIT))
            (folder / "cgroup.procs").write_text(str(os.getpid()))
            bench.start("sh", "-c", f"echo $$ > {parent}/cgroup.procs; echo up; cat; while ! rmdir {folder}; do sleep 0.1; done", stderr=-3)
            return
        except OSError:
            continue
    raise Impossible("no memory cgroup can be made here")


def command(bench):
    job = bench.script("import os, time\nhoard = []\nwhile os.environ['RANK'] == '1': hoard.append(bytearray(os.urandom(1 << 20) * 16))\n"
                       "time.sleep(3600)\n")
    return bench.spawn(job)
