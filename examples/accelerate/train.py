"""A small training with accelerate, as it comes: `Accelerator`, `prepare`, `backward`.

With flags:        safelaunch accelerate launch --multi_gpu --num_processes 2 train.py
With a file:       safelaunch accelerate launch --config_file two_processes.yaml train.py
On a CPU machine:  the same; left to itself, accelerate would make two jobs of one process of it.
"""

import argparse
import os
import sys

import torch
from accelerate import Accelerator


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--steps", type=int, default=40)
    args = parser.parse_args()

    accelerator = Accelerator(cpu=not torch.cuda.is_available())
    torch.manual_seed(0)
    model = torch.nn.Linear(8, 1)
    rows = torch.randn(32 * args.steps, 8)
    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(rows, rows.sum(1, True)), batch_size=16)
    model, optimizer, data = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=0.05), data)
    for step, (inputs, targets) in enumerate(data):
        if step == args.steps:
            break
        loss = torch.nn.functional.mse_loss(model(inputs), targets)
        optimizer.zero_grad()
        accelerator.backward(loss)
        optimizer.step()
    accelerator.print(f"trained on {accelerator.num_processes} processes: loss {loss.item():.4f}")
    accelerator.end_training()


if __name__ == "__main__":
    main()
    # One of gloo's threads may still hold the last operation and its tensors. Letting go of them needs the GIL, and an
    # interpreter that is ending makes that an abort (pytorch/pytorch#190489), so it does not end.
    sys.stdout.flush()
    os._exit(0)
