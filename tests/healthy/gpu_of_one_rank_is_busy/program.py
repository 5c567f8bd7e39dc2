"""One rank's device works for twelve seconds before it comes to the collective that both ranks have enqueued."""
CUDA = True


def command(bench):
    return bench.on_gpus("""
total = ones()
if RANK == 1: busy(12)
dist.all_reduce(total)
say(f"rank {RANK} has enqueued it")
""")
