"""M3, exit detection: from the last act of a rank that fails to the moment when its peers are asked to end."""

import subprocess
import sys

from figures import Row, percentile

WORKERS = 4
TRIALS_PER_PAIR = 5
PEERS_PER_PAIR = 1  # a torchrun takes seconds to start

# Rank 0 waits until its peers have blocked TERM and wait for it, notes the time and fails; each peer notes when TERM has come.
WORKER = f"""
import os, signal, time
rank, stamps = os.environ["RANK"], os.environ["STAMPS"]
def note(name, text): open(stamps + "/new-" + name, "w").write(text); os.rename(stamps + "/new-" + name, stamps + "/" + name)
if rank != "0":
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    note("ready-" + rank, "")
    signal.sigwait([signal.SIGTERM])
    note("asked-" + rank, str(time.monotonic_ns()))
    os._exit(143)
while sum(name.startswith("ready-") for name in os.listdir(stamps)) < {WORKERS - 1}: time.sleep(0.01)
note("failed", str(time.monotonic_ns()))
os._exit(3)
"""


def _until_asked(argv, bench):
    """Milliseconds until the last of the peers was asked."""
    stamps = bench.fresh_folder("stamps")
    subprocess.run(argv, env=bench.environment(STAMPS=str(stamps)), cwd=bench.folder, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    asked = [int(path.read_text()) for path in stamps.glob("asked-*")]
    assert len(asked) == WORKERS - 1, f"{len(asked)} of {WORKERS - 1} peers were asked to end"
    return (max(asked) - int((stamps / "failed").read_text())) / 1e6


def measure(bench):
    worker = [sys.executable, "-S", "-c", WORKER]
    argv = [bench.safelaunch, "--nproc-per-node", str(WORKERS), "--", *worker]
    ours = [_until_asked(argv, bench) for _ in range(bench.pairs * TRIALS_PER_PAIR)]
    median, p99 = percentile(ours, 0.5), percentile(ours, 0.99)
    words = dict(figure="M3", what=f"a rank of {WORKERS} fails: until the last peer is asked to end; p99 {p99:.2f} ms", unit="ms",
                 ours=median, ours_p95=percentile(ours, 0.95), pairs=len(ours))
    rows = []
    for peer, run in bench.elastic(WORKERS, "--no-python", *worker).items():
        theirs = percentile([_until_asked(run, bench) for _ in range(bench.pairs * PEERS_PER_PAIR)], 0.5)
        rows.append(Row(goal=f"p99 <= 2 ms, <= 1/50 of {peer}", met=p99 <= 2 and median / theirs <= 1 / 50, peer=peer, peers=theirs,
                        ratio=median / theirs, **words))
    return rows or [Row(goal="p99 <= 2 ms", met=p99 <= 2, **words)]
