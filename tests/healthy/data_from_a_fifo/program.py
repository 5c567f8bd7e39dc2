"""Rank 0 reads its data from a FIFO, and who writes it is late."""
import os

OPTIONS = ["--init-timeout", "40s"]


def make(bench):
    os.mkfifo(bench.folder / "data")
    bench.operator("""
with open("data", "w") as data:
    time.sleep(16)
    data.write("rows")
""")


def command(bench):
    return bench.train("""
if RANK == 0: say(open("data").read())
""")
