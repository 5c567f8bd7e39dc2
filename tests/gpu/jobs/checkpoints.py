"""DDP that saves every ten steps and goes on with --resume. A file fault-STEP-RANK says what goes wrong there, once."""

import glob
import os
import signal
import sys
import threading

import one_gpu  # noqa: F401  (before torch)
import torch
import torch.distributed as dist

RANK = int(os.environ["RANK"])


def fault_at(step):
    path = f"fault-{step}-{RANK}"
    if not os.path.exists(path):
        return
    with open(path) as file:
        what = file.read()
    os.remove(path)
    if what == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    threading.Event().wait()


torch.manual_seed(0)
dist.init_process_group("nccl")
model = torch.nn.Linear(64, 1, device="cuda")
first = 0
found = sorted(glob.glob("ckpt/step*.pt"), key=lambda name: int(name[9:-3]))
if "--resume" in sys.argv and found:
    state, first = torch.load(found[-1])
    model.load_state_dict(state)
    print(f"rank {RANK} goes on at {first}", flush=True)
model = torch.nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(first, 40):
    fault_at(step)
    inputs = torch.randn(32, 64, generator=torch.Generator().manual_seed(2 * step + RANK)).cuda()
    optimizer.zero_grad()
    (model(inputs) - inputs.sum(1, keepdim=True)).square().mean().backward()
    optimizer.step()
    if step % 10 == 9 and RANK == 0:
        os.makedirs("ckpt", exist_ok=True)
        torch.save((model.module.state_dict(), step + 1), "tmp")
        os.rename("tmp", f"ckpt/step{step + 1}.pt")
if RANK == 0:
    print(f"weights {model.module.weight.double().sum().item():.6f}", flush=True)
dist.destroy_process_group()
