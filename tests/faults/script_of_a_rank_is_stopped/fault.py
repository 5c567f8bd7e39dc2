"""Rank 1 is a shell script whose Python has stopped itself before init."""
EXPECTED = ['rank-stopped']
SAYS = ['[Rr]ank 1']


def command(bench):
    script = bench.script("""
import os, signal, torch.distributed as dist
if os.environ["RANK"] == "1": os.kill(os.getpid(), signal.SIGSTOP)
dist.init_process_group("gloo")
""")
    bench.script(f"python {script}\nexit $?\n", "rank.sh")
    return bench.torchrun("bash", "rank.sh", options=["--no-python"])
