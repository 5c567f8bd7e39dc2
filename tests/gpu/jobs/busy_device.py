"""A first all_reduce behind two seconds of other work on the device.

The call returns at once; the collective is finished two seconds later. Prints when (monotonic ns) the call returned,
the device had finished, and torch's own words (is_completed, pg_status) said so.
"""

import json
import time

import one_gpu  # noqa: F401  (before torch)
import torch
import torch.distributed as dist


def pg_status_says_done():
    dump = torch._C._distributed_c10d._dump_nccl_trace_json(includeCollectives=False, onlyActive=False)
    status = json.loads(dump).get("pg_status", {})
    return any(int(group["last_completed_collective"]) >= 1 for group in status.values())


dist.init_process_group("nccl", device_id=torch.device("cuda", 0))
ones = torch.ones(1, device="cuda")
torch.cuda.synchronize()
torch.cuda._sleep(int(2 * 1.7e9))  # about two seconds of clock ticks
called = time.monotonic_ns()
work = dist.all_reduce(ones, async_op=True)
returned = time.monotonic_ns()
done = torch.cuda.Event()
work.wait()
done.record()
said = {}
while len(said) < 4:
    now = time.monotonic_ns()
    if "device" not in said and done.query():
        said["device"], said["device_wall"] = now, time.time()
    if "is_completed" not in said and work.is_completed():
        said["is_completed"] = now
    if "pg_status" not in said and pg_status_says_done():
        said["pg_status"] = now
    if now - called > 20e9:
        break
    time.sleep(0.0005)
if dist.get_rank() == 0:
    print(json.dumps({"called": called, "returned": returned, **said}), flush=True)
dist.barrier()
dist.destroy_process_group()
