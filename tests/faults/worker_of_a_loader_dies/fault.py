"""A worker of rank 1's DataLoader ends before the first collective."""
EXPECTED = ['data-loader-died']
SAYS = ['[Rr]ank 1']


def command(bench):
    return bench.torchrun(bench.script("""
import os, sys, time, torch, torch.distributed as dist
RANK = int(os.environ['RANK'])

class Data(torch.utils.data.Dataset):
    def __len__(self): return 8
    def __getitem__(self, i):
        if i == 3: os._exit(3)
        return i
if RANK == 1: list(torch.utils.data.DataLoader(Data(), batch_size=None, num_workers=1))
dist.init_process_group('gloo')
dist.all_reduce(torch.ones(1))
"""))
