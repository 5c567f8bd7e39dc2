"""The first collectives are coalesced into one batch, for which rank 1 is late."""
CUDA = True


def command(bench):
    return bench.on_gpus("""
first, second = ones(), ones()
if RANK == 1: work(10)
with dist._coalescing_manager(device=torch.device("cuda", torch.cuda.current_device())):
    dist.all_reduce(first)
    dist.all_reduce(second)
say(f"rank {RANK}: {int(first)} {int(second)}")
""")
