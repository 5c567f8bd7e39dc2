"""M10, the search for stale processes among ten thousand, beside what reads the same of each."""

import subprocess
import sys
import time

from figures import compare, in_turns
from m13_doctor import CROWD

EACH_ENVIRONMENT = """
import psutil
for process in psutil.process_iter(["pid", "ppid", "uids", "cmdline"]):
    try: process.environ()
    except psutil.Error: pass
"""


def _milliseconds(argv, bench):
    began = time.perf_counter()
    subprocess.run(argv, env=bench.environment(), cwd=bench.folder, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    return (time.perf_counter() - began) * 1e3


def _turns(bench):
    """What each adds to its own start."""
    psutil = [sys.executable, "-c", EACH_ENVIRONMENT]
    pairs = {"clean --dry-run": ([bench.safelaunch, "clean", "--dry-run"], [bench.safelaunch, "version"]),
             "ps": (["ps", "-eo", "pid,ppid,uid,args"], ["ps", "--version"])}
    if subprocess.run([sys.executable, "-c", "import psutil"], stderr=subprocess.DEVNULL).returncode == 0:
        pairs["psutil"] = (psutil, [sys.executable, "-c", "import psutil"])
    ways = {name: lambda argv=argv, floor=floor: _milliseconds(argv, bench) - _milliseconds(floor, bench)
            for name, (argv, floor) in pairs.items()}
    return in_turns(bench.pairs, ways)


def measure(bench):
    crowd = bench.helper("crowd")
    if crowd is None:
        return []
    with subprocess.Popen([crowd, str(CROWD)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n", "the crowd has no room here"
        turns = _turns(bench)
        process.stdin.close()
    words = dict(figure="M10", what=f"`clean --dry-run` among {CROWD:,} processes", unit="ms")
    limits = {"ps": 0.25, "psutil": 0.12}
    return [compare(turns, "clean --dry-run", peer, goal=f"<= {limit}x {peer}", limit=limit, **words)
            for peer, limit in limits.items() if peer in turns[0]]
