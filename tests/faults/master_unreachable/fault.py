"""Packets to MASTER_ADDR are dropped, as by a firewall."""
import sys

EXPECTED = ["connect-failed", "store-timeout"]


def make(bench):
    bench.own_network()
    bench.ip("link", "add", "eth7", "type", "bridge")
    bench.ip("addr", "add", "10.7.0.1/24", "dev", "eth7")
    bench.ip("link", "set", "eth7", "up")


def command(bench):
    job = bench.script("import datetime, torch.distributed as dist\n"
                       "dist.init_process_group('gloo', timeout=datetime.timedelta(seconds=4))\n")
    bench.env.update(RANK="1", WORLD_SIZE="2", LOCAL_RANK="1", MASTER_ADDR="10.7.0.9", MASTER_PORT="29500")
    return [sys.executable, job]
