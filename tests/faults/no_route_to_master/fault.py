"""There is no route to MASTER_ADDR."""
import sys

EXPECTED = ["connect-failed", "store-timeout"]


def make(bench):
    bench.own_network()


def command(bench):
    job = bench.script("import datetime, torch.distributed as dist\n"
                       "dist.init_process_group('gloo', timeout=datetime.timedelta(seconds=4))\n")
    bench.env.update(RANK="1", WORLD_SIZE="2", LOCAL_RANK="1", MASTER_ADDR="10.7.0.9", MASTER_PORT="29500")
    return [sys.executable, job]
