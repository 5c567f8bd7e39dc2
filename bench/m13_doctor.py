"""M13, preflight: what looking at the host costs, on a quiet one and among ten thousand processes."""

import shutil
import subprocess
import time

from figures import compare, in_turns

CROWD = 10_000
# The doctor's work in shell: what people run by hand.
BY_HAND = "ps -eo pid,ppid,uid,args; ss -ltnp; df /dev/shm; ulimit -a; ip addr; ip route; getent ahosts localhost; env"


def _ways(bench):
    environment = bench.environment()
    commands = {
        "version": [bench.safelaunch, "version"],
        "doctor": [bench.safelaunch, "doctor"],
        "run": [bench.safelaunch, "--no-preflight", "--", shutil.which("true")],
        "run with preflight": [bench.safelaunch, "--", shutil.which("true")],
        "nothing by hand": ["sh", "-c", "true"],
        "by hand": ["sh", "-c", BY_HAND],
    }

    def sample(argv):
        began = time.perf_counter()
        subprocess.run(argv, env=environment, cwd=bench.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       stdin=subprocess.DEVNULL)
        return (time.perf_counter() - began) * 1e3

    return {name: lambda argv=argv: sample(argv) for name, argv in commands.items()}


def _rows(bench, where, limit):
    """What a whole process adds to one that does nothing; the peer's too, with its own floor."""
    turns = in_turns(bench.pairs, _ways(bench))
    shown = [{"doctor": turn["doctor"] - turn["version"], "preflight": turn["run with preflight"] - turn["run"],
              "shell": turn["by hand"] - turn["nothing by hand"]} for turn in turns]
    for name, what in (("doctor", "safelaunch doctor"), ("preflight", "preflight of a run")):
        row = compare(shown, name, "shell", figure="M13", unit="ms", what=f"{what}, {where}", limit=0.2,
                      goal=f"<= {limit} ms, <= 0.2x shell")
        row.met = row.met and row.ours <= limit
        yield row


def measure(bench):
    rows = list(_rows(bench, "quiet host", 15))
    crowd = bench.helper("crowd")
    if crowd is None:
        return rows
    with subprocess.Popen([crowd, str(CROWD)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        if process.stdout.readline() == b"ready\n":
            rows += _rows(bench, f"{CROWD:,} processes", 150)
        process.stdin.close()
    return rows
