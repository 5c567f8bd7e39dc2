"""Rank 0 searches by a torchrun of its own, of which rank 1 never comes."""

EXPECTED = ["rank-missing"]
OPTIONS = ["--work-timeout", "60s"]  # the import of torch is much work


def command(bench):
    bench.script("""
import os, time, torch.distributed as dist
if os.environ["RANK"] == "1": time.sleep(1000)
dist.init_process_group("gloo")
""", "trial.py")
    return bench.torchrun(bench.script("""
import os, subprocess, sys, torch.distributed as dist
if os.environ["RANK"] == "0":
    subprocess.run([sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "trial.py"])
dist.init_process_group("gloo")
"""), options=["--standalone"])
