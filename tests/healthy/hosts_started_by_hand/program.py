"""A script that is started by hand on each of two hosts sets its variables itself; the other host's rank comes late."""
from workbench import free_port

CUDA = "the other host's rank is on gloo"
RANK = """
import os, sys, time
import torch, torch.distributed as dist
rank = int(sys.argv[1])
if rank == 0:
    while not os.path.exists("waits1"): time.sleep(0.05)
    time.sleep(12)
else: open("waits1", "w").close()
dist.init_process_group("gloo", init_method="tcp://10.77.25.1:PORT", rank=rank, world_size=2)
dist.all_reduce(torch.ones(1))
print("rank", rank, "met the other", flush=True)
dist.destroy_process_group()
"""


def make(bench):
    bench.own_network()
    bench.ip("addr", "add", "10.77.25.1/32", "dev", "lo")
    bench.script(RANK.replace("PORT", str(free_port())), "rank.py")
    bench.start("python", "rank.py", "0", ready=False, cwd=bench.folder, env=bench.env)


def command(bench):
    return bench.shell("exec python rank.py 1")
