"""M1, launch latency: from exec to the first line of the last of n workers."""

import subprocess
import sys
import time

from figures import BENCH, compare, in_turns

WORKERS = 8
STAMP = BENCH / "stamp.py"


def _latest(folder, workers):
    stamps = [int(path.read_text()) for path in folder.iterdir()]
    assert len(stamps) == workers, f"{len(stamps)} of {workers} workers have started"
    return max(stamps)


def _launch(bench, argv, workers):
    folder = bench.fresh_folder("stamps")
    began = time.monotonic_ns()
    subprocess.run(argv, env=bench.environment(STAMPS=str(folder)), check=True, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=bench.folder)
    return (_latest(folder, workers) - began) / 1e6


def _python_workers(bench):
    worker = [sys.executable, str(STAMP)]
    loop = f"for rank in $(seq {WORKERS}); do RANK=$rank {worker[0]} {worker[1]} & done; wait"
    commands = {"bash loop": ["bash", "-c", loop],
                "safelaunch": [bench.safelaunch, "--nproc-per-node", str(WORKERS), "--", *worker],
                "without preflight": [bench.safelaunch, "--no-preflight", "--nproc-per-node", str(WORKERS), "--", *worker]}
    if bench.torch_python:
        commands["torchrun"] = bench.torchrun(WORKERS, "--no-python", *worker)
    turns = in_turns(bench.pairs, {name: lambda argv=argv: _launch(bench, argv, WORKERS) for name, argv in commands.items()})
    words = dict(figure="M1", unit="ms")
    rows = []
    if bench.torch_python:
        rows.append(compare(turns, "safelaunch", "torchrun", what="launch of 8 Python workers", goal="<= 0.12x torchrun",
                            limit=0.12, **words))
    return rows + [
        compare(turns, "safelaunch", "bash loop", what="launch of 8 Python workers", goal="<= 1.25x a bash loop", limit=1.25, **words),
        compare(turns, "without preflight", "bash loop", what="the same, preflight off", goal="<= 1.10x a bash loop",
                limit=1.10, **words),
    ]


def _plain_workers(bench, workers):
    """Workers that start in no time, against a loop of posix_spawn: what n processes cost us."""
    stamp, loop = bench.helper("stamp"), bench.helper("spawn_loop")
    if not stamp:
        return []
    commands = {"posix_spawn loop": [loop, str(workers), stamp],
                "safelaunch": [bench.safelaunch, "--no-preflight", "--nproc-per-node", str(workers), "--", stamp]}
    turns = in_turns(bench.pairs, {name: lambda argv=argv: _launch(bench, argv, workers) for name, argv in commands.items()})
    return [compare(turns, "safelaunch", "posix_spawn loop", figure="M1", unit="ms",
                    what=f"launch of {workers} plain workers", goal="<= 1.15x the loop", limit=1.15)]


def measure(bench):
    return _python_workers(bench) + _plain_workers(bench, 64) + _plain_workers(bench, 256)
