"""/dev/shm has 1 MiB, and a DataLoader's workers pass their batches through it."""
EXPECTED = ["shm-data-loader"]


def make(bench):
    bench.small_shm("1m")


def command(bench):
    return bench.torchrun(bench.job(
        "data = [torch.ones(1 << 20) for _ in range(8)]\n"
        "for batch in torch.utils.data.DataLoader(data, batch_size=4, num_workers=2): dist.all_reduce(batch)\n"))
