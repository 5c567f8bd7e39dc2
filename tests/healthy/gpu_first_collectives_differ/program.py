"""Ranks 0 and 1 begin in a group of theirs and work on; rank 2 begins in the world, and waits there for both."""
CUDA = True


def command(bench):
    return bench.on_gpus("""
pair = dist.new_group([0, 1])
if RANK < 2:
    dist.all_reduce(ones(), group=pair)
    work(11)
dist.barrier()
""", ranks=3)
