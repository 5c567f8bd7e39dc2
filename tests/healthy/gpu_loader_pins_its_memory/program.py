"""A DataLoader has workers and a thread that pins memory; rank 1's first batches take long."""
CUDA = True


def command(bench):
    return bench.on_gpus("""
class Rows(torch.utils.data.Dataset):
    def __len__(self): return 8
    def __getitem__(self, index):
        if RANK == 1: work(2)
        return torch.ones(2)
loader = torch.utils.data.DataLoader(Rows(), batch_size=4, num_workers=1, pin_memory=True)
for batch in loader:
    total = batch.to(device, non_blocking=True)
    dist.all_reduce(total)
say(f"rank {RANK}: {total.cpu().tolist()[0]}")
""")
