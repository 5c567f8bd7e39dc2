"""torch's profiler records the CPU and the device while rank 1 is late for the first collective."""
CUDA = True


def command(bench):
    return bench.on_gpus("""
with torch.profiler.profile() as profile:
    if RANK == 1: work(10)
    dist.all_reduce(ones())
    torch.cuda.synchronize()
say(f"rank {RANK}: {len(profile.events()) > 0}")
""")
