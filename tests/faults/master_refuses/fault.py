"""Nobody listens at MASTER_ADDR: rank 0 runs elsewhere, or has died."""
import sys

from workbench import free_port

EXPECTED = ["connect-failed", "store-timeout"]


def command(bench):
    job = bench.script("import datetime, torch.distributed as dist\n"
                       "dist.init_process_group('gloo', timeout=datetime.timedelta(seconds=4))\n")
    bench.env.update(RANK="1", WORLD_SIZE="2", LOCAL_RANK="1", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port()))
    return [sys.executable, job]
