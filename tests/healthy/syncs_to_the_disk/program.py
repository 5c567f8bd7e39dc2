"""Rank 0 writes and syncs files for longer than the deadlines: the work is the disk's."""


def command(bench):
    return bench.train("""
if RANK == 0:
    late(0)
    end = time.monotonic() + 11
    while time.monotonic() < end:
        with open("big", "wb") as file:
            file.write(b"z" * 4_000_000)
            file.flush()
            os.fsync(file.fileno())
""")
