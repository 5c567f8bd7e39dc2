"""A DataLoader with workers by spawn is read before init; the workers inherit RANK and load torch."""
from workbench import MEET, indent


def command(bench):
    return bench.train("""
import torch
class Data(torch.utils.data.Dataset):
    def __len__(self): return 8
    def __getitem__(self, index):
        if RANK == 1: work(1.2)
        return torch.tensor(index)

def main():
    loader = torch.utils.data.DataLoader(Data(), batch_size=4, num_workers=1, multiprocessing_context="spawn")
    say(f"rank {RANK}: {sum(int(batch.sum()) for batch in loader)}")
    meet()

def meet():
""" + indent(MEET) + """
if __name__ == "__main__": main()
""", end="")
