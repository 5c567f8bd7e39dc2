"""Rank 0 evaluates in short kernels and waits for each of them; the others wait for it in a barrier."""
CUDA = True


def command(bench):
    return bench.on_gpus("""
if RANK == 0:
    for _ in range(14):
        work(0.2)
        busy(0.6)
        torch.cuda.synchronize()
dist.barrier()
""")
