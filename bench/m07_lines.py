"""M7, the log: what a line costs on its way from a rank to its file and the terminal, and how many come through."""

import os
import statistics
import subprocess
import sys
import tempfile
import time

from figures import Row, in_turns

WORKERS = 8
LINE = 120  # bytes, with its end
LINES = 200_000  # of each worker
WORKER = f"""
import os, sys
lines = (("x" * {LINE - 1} + "\\n") * 500).encode()
for _ in range({LINES} // 500):
    rest = memoryview(lines)
    while rest: rest = rest[os.write(1, rest):]
"""


def _run(argv, bench):
    """(seconds on the clock, seconds of all processors), with the output into a file."""
    with tempfile.TemporaryFile(dir=bench.folder) as out:
        before, began = os.times(), time.monotonic()
        subprocess.run(argv, env=bench.environment(), cwd=bench.folder, stdin=subprocess.DEVNULL, stdout=out,
                       stderr=subprocess.DEVNULL, check=True)
        seconds, after = time.monotonic() - began, os.times()
        whole = WORKERS * LINES * LINE
        assert os.fstat(out.fileno()).st_size >= whole, f"{os.fstat(out.fileno()).st_size} of {whole} bytes came through"
    return seconds, after.children_user + after.children_system - before.children_user - before.children_system


def measure(bench):
    worker = [sys.executable, "-S", "-c", WORKER]
    ways = {"bare": ["sh", "-c", f'for i in $(seq {WORKERS}); do "$@" & done; wait', "sh", *worker],
            "safelaunch": [bench.safelaunch, "--nproc-per-node", str(WORKERS), "--prefix", "--rank-files", "--", *worker]}
    if bench.torch_python:
        logs = bench.fresh_folder("torchrun-logs")
        ways["torchrun"] = bench.torchrun(WORKERS, "--tee", "3", "--log-dir", str(logs), "--no-python", *worker)
    turns = in_turns(max(3, bench.pairs // 5), {name: lambda argv=argv: _run(argv, bench) for name, argv in ways.items()})
    lines = WORKERS * LINES

    def added(way):
        """Microseconds of processor a line, beyond those of the workers that write into the file themselves."""
        return [(turn[way][1] - turn["bare"][1]) / lines * 1e6 for turn in turns]

    def flow(way):
        return [lines * LINE / 1e6 / turn[way][0] for turn in turns]

    rows = []
    for what, unit, values, goal, holds in (
            ("processor time that a line of 120 bytes adds, 8 writers", "us", added, "<= 0.24 us", lambda own: own <= 0.24),
            ("flow with prefix and a file a rank, 8 writers", "MB/s", flow, ">= 500 MB/s", lambda own: own >= 500)):
        own = statistics.median(values("safelaunch"))
        row = Row(figure="M7", what=what, unit=unit, goal=goal, met=holds(own), ours=own,
                  ours_p95=max(values("safelaunch")) if unit == "us" else min(values("safelaunch")), pairs=len(turns))
        if "torchrun" in ways:
            row.peer, row.peers = "torchrun --tee", statistics.median(values("torchrun"))
            row.ratio = own / row.peers
        rows.append(row)
    return rows
