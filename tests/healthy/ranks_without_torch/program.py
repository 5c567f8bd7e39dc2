"""Eight ranks without torch meet by files; the last one is late."""
CUDA = "it has no torch"


def command(bench):
    return bench.train("""
if RANK == 7: late()
note(f"waits{RANK}")
while not all(os.path.exists(f"waits{i}") for i in range(8)): time.sleep(0.1)
say(f"rank {RANK} of {WORLD}")
""", end="", ranks=8)
