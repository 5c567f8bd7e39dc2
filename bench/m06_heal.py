"""M6, from a hang to the first lines of all ranks of the next attempt."""

import statistics

from figures import alone
from light_job import WORKERS, spoilt_by

QUIET = 10.0
NCCL_TIMEOUT = 600.0


def measure(bench):
    whole, mechanism = [], []
    for _ in range(max(3, bench.pairs // 3)):
        job = spoilt_by(bench, "absent", "--quiet-timeout", f"{QUIET:.0f}s", "--profile", "basic,gloo-fallback")
        assert job.status == 0, f"the second attempt has not worked: {job.words}"
        firsts = job.stamp("first", attempt=2)
        assert len(firsts) == WORKERS
        whole.append(max(firsts.values()) - job.fault)
        mechanism.append(max(firsts.values()) - job.event("verdict"))
    row = alone(whole, statistics.median(whole) <= 12, figure="M6", unit="s", goal="<= 12 s, <= 1/50 of torch's 600 s",
                what=f"hang to 8 first lines of attempt 2, quiet deadline {QUIET:.0f} s")
    row.peer, row.peers = "torch's own timeout (NCCL)", NCCL_TIMEOUT
    row.ratio, row.ratio_p95 = row.ours / NCCL_TIMEOUT, row.ours_p95 / NCCL_TIMEOUT
    return [row, alone(mechanism, statistics.median(mechanism) <= 0.5, figure="M6", unit="s", goal="<= 0.5 s",
                       what="of that from the verdict on: evidence, stop, relaunch")]
