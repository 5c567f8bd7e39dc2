"""Rank 0 waits for a command that sleeps: a job on another host, a lease that has to come."""
OPTIONS = ["--init-timeout", "40s"]


def command(bench):
    return bench.train("""
import subprocess
if RANK == 0:
    late(0)
    subprocess.run(["sleep", "12"], check=True)
""")
