"""All ranks poll a lock file that a dead run has left."""
EXPECTED = ['lock-left', 'start-stuck']
SAYS = ['data\\.lock|acquire']
OPTIONS = ["--start-timeout", "10s"]
NEEDS = ["filelock"]


def command(bench):
    return bench.torchrun(bench.script("""
import os, sys, time, torch, torch.distributed as dist
RANK = int(os.environ['RANK'])
import filelock
if RANK == 0: open('data.lock', 'w').close()
while not os.path.exists('data.lock'): time.sleep(0.1)
with filelock.SoftFileLock('data.lock'): pass
dist.init_process_group('gloo')
dist.all_reduce(torch.ones(1))
"""))
