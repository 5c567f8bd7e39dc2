"""What the benchmarks share: turns, statistics, rows, and the programs they are measured against."""

import dataclasses
import math
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile

BENCH = pathlib.Path(__file__).resolve().parent


@dataclasses.dataclass
class Row:
    """One line of the table. `ratio` is ours to the peer's, the median within the pairs."""

    figure: str
    what: str
    goal: str
    met: bool
    unit: str
    ours: float
    ours_p95: float
    pairs: int
    peer: str = ""
    peers: float = None
    ratio: float = None
    ratio_p95: float = None


def in_turns(pairs, ways):
    """[{way: value}, …]: all ways once a turn, so that a busy minute falls on each; the first turn warms up."""
    for run in ways.values():
        run()
    return [{name: run() for name, run in ways.items()} for _ in range(pairs)]


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, math.ceil(share * len(ordered)) - 1)]


def compare(turns, ours, theirs, peer=None, base=None, **words):
    """The row of two ways; with `base` both are what they add to a third."""
    floor = [turn[base] if base else 0.0 for turn in turns]
    mine = [turn[ours] - low for turn, low in zip(turns, floor)]
    other = [turn[theirs] - low for turn, low in zip(turns, floor)]
    ratios = [a / b for a, b in zip(mine, other) if b > 0]
    limit = words.pop("limit")
    ratio = statistics.median(ratios)
    return Row(ratio=ratio, ratio_p95=percentile(ratios, 0.95), met=ratio <= limit,
               ours=statistics.median(mine), ours_p95=percentile(mine, 0.95),
               peer=peer or theirs, peers=statistics.median(other), pairs=len(turns), **words)


def alone(values, met, **words):
    """The row of a figure that has no peer, or none that ever ends."""
    return Row(ours=statistics.median(values), ours_p95=percentile(values, 0.95), met=met, pairs=len(values), **words)


class Bench:
    """Where things are: our program, torchrun's Python, a scratch folder that stands for HOME."""

    def __init__(self, safelaunch, torch_python, pairs, seconds):
        self.safelaunch = str(pathlib.Path(safelaunch).resolve())
        self.torch_python = torch_python if torch_python and _has_torch(torch_python) else None
        self.tini = shutil.which("tini")
        self.pairs, self.seconds = pairs, seconds
        self._scratch = tempfile.TemporaryDirectory(prefix="safelaunch-bench-")
        self.folder = pathlib.Path(self._scratch.name)

    def close(self):
        self._scratch.cleanup()

    def environment(self, **more):
        """The caller's, without what steers safelaunch, a launcher or NCCL."""
        steering = ("SAFELAUNCH_", "PET_", "NCCL_", "MASTER_", "XDG_", "TORCHELASTIC_")
        keep = {name: value for name, value in os.environ.items() if not name.startswith(steering)}
        return {**keep, "HOME": str(self.folder), "OMP_NUM_THREADS": "1", "BENCH_FOLDER": str(self.folder), **more}

    def fresh_folder(self, name):
        return pathlib.Path(tempfile.mkdtemp(prefix=name + "-", dir=self.folder))

    def helper(self, name):
        """A program of bench/CMakeLists.txt, beside ours in the build folder; None where it is not built."""
        program = pathlib.Path(self.safelaunch).parents[2] / "bench" / name
        return str(program) if program.exists() else None

    def torchrun(self, workers, *words):
        return [self.torch_python, "-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={workers}", *words]

    def elastic(self, workers, *words):
        """{peer: argv}: torchrun, and what builds on it, where it is installed."""
        nvrx = shutil.which("ft_launcher")
        return {**({"torchrun": self.torchrun(workers, *words)} if self.torch_python else {}),
                **({"NVRx": [nvrx, f"--nproc_per_node={workers}", *words]} if nvrx else {})}


def _has_torch(python):
    return subprocess.run([python, "-c", "import torch.distributed.run"], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL).returncode == 0
