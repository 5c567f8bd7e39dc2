"""DeepSpeed's engine with ZeRO-2, two ranks on one GPU. ABSENT_RANK never comes to the engine."""

import os
import threading

import one_gpu  # noqa: F401  (before torch)
import deepspeed
import torch

deepspeed.init_distributed("nccl", auto_mpi_discovery=False, verbose=False)
if os.environ["RANK"] == os.environ.get("ABSENT_RANK"):
    threading.Event().wait()
model = torch.nn.Linear(64, 2)
config = {"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 2}, "zero_allow_untested_optimizer": True,
          "bf16": {"enabled": True}}
engine = deepspeed.initialize(model=model, optimizer=torch.optim.SGD(model.parameters(), lr=0.1), config=config)[0]
for _ in range(3):
    engine.backward(engine(torch.ones(1, 64, device="cuda", dtype=torch.bfloat16)).sum())
    engine.step()
print(f"passed {os.environ['RANK']}: {engine.global_steps} steps", flush=True)
torch.distributed.destroy_process_group()
