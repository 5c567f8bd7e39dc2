"""DeepSpeed's launcher starts the ranks, and its engine (ZeRO-1) trains on GPUs; rank 1 works between init and its engine's first collective."""
import sys

from workbench import ON_GPUS, START, free_port

CUDA = True
NEEDS = ["deepspeed"]
LINES = "^rank "

JOB = """
sys.argv.clear()
import deepspeed
deepspeed.init_distributed("nccl", auto_mpi_discovery=False, verbose=False)
if RANK == 1: work(10)
model = torch.nn.Linear(2, 2).to(device)
config = {"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 1}, "zero_allow_untested_optimizer": True}
engine = deepspeed.initialize(model=model, optimizer=torch.optim.SGD(model.parameters(), lr=0.1), config=config)[0]
for _ in range(2):
    engine.backward(engine(torch.ones(1, 2).to(device)).sum())
    engine.step()
say(f"rank {RANK}: {engine.global_steps} steps")
dist.destroy_process_group()
"""


def command(bench):
    return [sys.executable, "-m", "deepspeed.launcher.runner", "--num_gpus", "2", "--master_port", str(free_port()),
            bench.script(START + ON_GPUS + JOB)]
