"""The first collective is enqueued behind twelve seconds of the device's work, in all ranks."""
CUDA = True


def command(bench):
    return bench.on_gpus("""
total = ones()
busy(12)
dist.all_reduce(total)
say(f"rank {RANK} has enqueued it")
""")
