"""The first collective is asynchronous: rank 0 works on beside it, and asks for its result long after."""
CUDA = True


def command(bench):
    return bench.on_gpus("""
total = ones()
if RANK == 1: work(10)
pending = dist.all_reduce(total, async_op=True)
if RANK == 0: work(16)
pending.wait()
say(f"rank {RANK}: {int(total)}")
""")
