"""Ranks of a search: none ever speaks to another, and they end one after the other."""

CUDA = "it has no torch"


def command(bench):
    return bench.train("""
time.sleep(RANK)
say(f"rank {RANK} of {WORLD} alone")
""", end="", ranks=3)
