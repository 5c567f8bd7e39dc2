"""A thousand steps, the first collective among them, are enqueued behind five seconds of the device's work; nobody synchronises."""
CUDA = True
QUICK = True


def command(bench):
    return bench.on_gpus("""
total = ones()
busy(5)
for _ in range(1000):
    dist.all_reduce(total)
say(f"rank {RANK} has enqueued all")
""")
