"""M4, relaunch: from the crash of a rank that has trained to the first lines of all ranks of the next attempt."""

import subprocess

from figures import alone, compare, in_turns
from light_job import WORKER, WORKERS, SpoiltJob

PROFILE = "name: goes-on\nextends: basic\nresume: {marker: '*.pt', append: [--resume]}\nrestarts: 1\n"


def _relaunch(argv, bench):
    """Milliseconds."""
    stamps = bench.fresh_folder("stamps")
    (stamps / "goes-on.yaml").write_text(PROFILE)
    done = subprocess.run([*argv, *WORKER, "crash"], env=bench.environment(STAMPS=str(stamps)), cwd=stamps, stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=120)
    job = SpoiltJob(stamps)
    firsts = job.stamp("first", attempt=2)
    assert (done.returncode, len(firsts)) == (0, WORKERS), f"{len(firsts)} ranks of the second attempt: {done.stderr[-500:]}"
    return (max(firsts.values()) - job.fault) * 1e3


def measure(bench):
    ours = {"safelaunch": [bench.safelaunch, "--profile", "./goes-on.yaml", "--nproc-per-node", str(WORKERS), "--"]}
    peers = bench.elastic(WORKERS, "--max-restarts=1", "--no-python")
    turns = in_turns(max(3, bench.pairs // 3), {name: lambda argv=argv: _relaunch(argv, bench) for name, argv in {**ours, **peers}.items()})
    words = dict(figure="M4", what=f"a rank is killed: until the last of {WORKERS} first lines of attempt 2", unit="ms")
    if not peers:
        return [alone([turn["safelaunch"] for turn in turns], True, goal="(no torchrun to compare with)", **words)]
    return [compare(turns, "safelaunch", peer, goal=f"<= 0.5x {peer}", limit=0.5, **words) for peer in peers]
