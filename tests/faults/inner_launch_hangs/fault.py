"""Rank 0 runs a torchrun of its own, whose rank 1 sleeps for ever."""
EXPECTED = ['rank-missing']
SAYS = ['[Rr]ank 0']


def command(bench):
    bench.script("""
import os, time, torch.distributed as dist
if os.environ["RANK"] == "1": time.sleep(3600)
dist.init_process_group("gloo")
""", "trial.py")
    return bench.torchrun(bench.script("""
import os, subprocess, sys, torch.distributed as dist
words = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "trial.py"]
if os.environ["RANK"] == "0": subprocess.run(words)
dist.init_process_group("gloo")
"""))
