"""torch.compile traces a step that has a collective within it, and rank 1 compiles for longer."""
CUDA = True


def command(bench):
    return bench.on_gpus("""
def step(x):
    dist.all_reduce(x)
    return x
total = ones()
if RANK == 1: work(10)
torch.compile(step, backend="eager")(total)
""")
