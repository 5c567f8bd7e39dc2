"""Rank 0 searches by a torchrun of its own, whose rank 1 is late, while rank 1 waits for the search."""


def command(bench):
    bench.program("if RANK == 1: late()\n", name="trial.py")
    return bench.train("""
import subprocess
note(f"waits_for_the_search{RANK}")
search = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "trial.py"]
if RANK == 0: subprocess.run(search, check=True)
""")
