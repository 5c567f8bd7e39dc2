"""P24: a command finds itself started as without safelaunch."""

import json
import os
import resource
import sys

from promises.scene import INITS, LAUNCHERS, Launcher, PYTHON
from promises.tries import expect, tries

FACTS = """
import json, os, signal
read = lambda name: open("/proc/self/" + name).read()
status = dict(line.split(":\\t", 1) for line in read("status").splitlines() if ":\\t" in line)
same = ("Umask", "Uid", "Gid", "Groups", "NoNewPrivs", "Seccomp", "SigBlk", "SigIgn", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb",
        "Cpus_allowed", "Mems_allowed")
stat = read("stat").rpartition(")")[2].split()
print(json.dumps({
    "status": {name: status.get(name) for name in same}, "limits": read("limits"), "nice": stat[16], "terminal": stat[4],
    "oom": read("oom_score_adj"), "cwd": os.getcwd(), "cgroup": read("cgroup"), "descriptors":
    {fd: os.readlink("/proc/self/fd/" + fd).split(":")[0] for fd in os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd/" + fd)},
    "environ": dict(os.environ)}))
"""
ADDED = ("SAFELAUNCH_", "NCCL_DEBUG", "NCCL_PROFILER_PLUGIN", "NCCL_RAS_ADDR", "NCCL_SOCKET_MAGIC", "PYTHONPATH")
BARE = Launcher("bare", lambda ranks: [])


def _unusual(dice):
    """Changes what a child inherits: each trial in its own way."""
    umask, nice, files = dice.choice([0o022, 0o077, 0o027, 0]), dice.randint(0, 5), dice.randint(200, 1000)
    oom, cpu, stack = dice.randint(0, 900), dice.choice(sorted(os.sched_getaffinity(0))), dice.randint(4, 16) << 20

    def prepare():
        os.umask(umask)
        os.nice(nice)
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, files + 100))
        resource.setrlimit(resource.RLIMIT_STACK, (stack, stack))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.sched_setaffinity(0, {cpu})
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write(str(oom))
    return prepare


def _facts(scene, launcher, prepare, fds):
    mine, scene.launcher = scene.launcher, launcher
    status, out, err = scene.run([*PYTHON, FACTS], preexec_fn=prepare, pass_fds=fds)
    scene.launcher = mine
    expect(status == 0 and out, f"{launcher.name}: status {status}, {err.decode(errors='replace')}")
    return json.loads(out)


@tries("P24", "/proc/self of the job beside that of a bare one: status, limits, descriptors, environment", 20, 200,
       peers=INITS)
def started_alike(scene, _, dice):
    prepare = _unusual(dice)
    fds = [os.open(os.devnull, os.O_RDONLY) for _ in range(dice.randint(0, 5))]
    try:
        bare, ours = (_facts(scene, launcher, prepare, fds) for launcher in (BARE, scene.launcher))
    finally:
        for fd in fds:
            os.close(fd)
    environments = bare.pop("environ"), ours.pop("environ")
    changed = {name for name in {*environments[0], *environments[1]} if environments[0].get(name) != environments[1].get(name)}
    strange = sorted(name for name in changed if not name.startswith(ADDED))
    expect(not strange, f"variables that are not documented: {', '.join(strange)}")
    differ = [name for name in bare if bare[name] != ours[name]]
    expect(not differ, "; ".join(f"{name}: {bare[name]} became {ours[name]}" for name in differ))


COPIES = [sys.executable, "-S", "-c", "import shutil, sys; shutil.copyfileobj(sys.stdin.buffer, sys.stdout.buffer)"]


@tries("P24", "1 MiB of random bytes through stdin and stdout", 5, 100, peers=(*INITS, *LAUNCHERS))
def every_byte(scene, _, dice):
    data = dice.randbytes(1 << 20)
    with open(scene.folder / "in", "w+b") as file:
        file.write(data)
        file.seek(0)
        out = scene.run(COPIES, stdin=file)[1]
    expect(out == data, f"{len(data)} bytes went in, {len(out)} came out{' changed' if len(out) == len(data) else ''}")
