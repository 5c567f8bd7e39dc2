"""All ranks poll a lock file that a dead run has left."""
EXPECTED = ['lock-left', 'start-stuck']
SAYS = ['data\\.lock|acquire']
OPTIONS = ["--start-timeout", "10s"]


def make(bench):
    (bench.folder / "data.lock").touch()


def command(bench):
    return bench.torchrun(bench.script("""
import os, sys, time, torch, torch.distributed as dist
RANK = int(os.environ['RANK'])
def acquire():
    while True:
        try: return os.open('data.lock', os.O_CREAT | os.O_EXCL)
        except FileExistsError: time.sleep(0.05)
acquire()
dist.init_process_group('gloo')
dist.all_reduce(torch.ones(1))
"""))
