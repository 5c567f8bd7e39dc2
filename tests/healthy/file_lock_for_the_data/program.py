"""Rank 1 prepares the data under a file lock, rank 0 waits for the lock, rank 2 waits for both in init."""
NEEDS = ["filelock"]


def command(bench):
    return bench.train("""
import filelock
if RANK == 0: time.sleep(2)
if RANK < 2:
    with filelock.FileLock("data.lock"):
        if not os.path.exists("data"):
            work(14)
            open("data", "w").close()
""", ranks=3)
