"""Gradients are accumulated (no_sync) for longer than a collective may take, and rank 1 takes longer than rank 0."""
CUDA = True


def command(bench):
    return bench.on_gpus("""
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2).to(device), init_sync=False)
with model.no_sync():
    for _ in range(8):
        work(0.3 + RANK)
        model(torch.ones(1, 2).to(device)).sum().backward()
model(torch.ones(1, 2).to(device)).sum().backward()
torch.cuda.synchronize()
""")
