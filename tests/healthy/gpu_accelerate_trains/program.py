"""accelerate launch --multi_gpu, and its Accelerator accumulates gradients; rank 1 works before the model is prepared."""
import sys

from workbench import START, free_port

CUDA = True
NEEDS = ["accelerate"]

JOB = """
import torch
from accelerate import Accelerator
accelerator = Accelerator(gradient_accumulation_steps=2)
if RANK == 1: work(10)
model = torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model, optimizer = accelerator.prepare(model, optimizer)
for _ in range(4):
    with accelerator.accumulate(model):
        accelerator.backward(model(torch.ones(1, 2).to(accelerator.device)).sum())
        optimizer.step()
        optimizer.zero_grad()
say(f"rank {accelerator.process_index} of {accelerator.num_processes}")
accelerator.end_training()
"""


def command(bench):
    return [sys.executable, "-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2", "--main_process_port", str(free_port()),
            bench.script(START + JOB)]
