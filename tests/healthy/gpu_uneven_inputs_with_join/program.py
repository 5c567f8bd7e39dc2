"""Rank 1 has more batches than rank 0, which joins: it answers the collectives of the other until that one is done."""
CUDA = True


def command(bench):
    return bench.on_gpus("""
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2).to(device))
with model.join():
    for batch in range(1 + 3 * RANK):
        if batch: work(4)
        model(torch.ones(1, 2).to(device)).sum().backward()
        say(f"rank {RANK}, batch {batch}")
""")
