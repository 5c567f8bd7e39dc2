"""Scene a: a job that fails in communication is healed by the next profile, without a change of its code."""

import sys

from harness import BIN, DDP, SafelaunchTest, kept_extensions, main, torchrun

NCCL_JOB = ["--backend", "nccl", "--steps", "5"]

# Trains a fixed model on fixed data for five steps, over however many ranks there are, and prints the sum of
# all parameters: it must not depend on the number of ranks.
FSDP2_JOB = """
import os, torch, torch.distributed as dist
from torch.distributed.fsdp import fully_shard

rank, world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 4))
rows, targets = torch.randn(16, 8), torch.randn(16, 4)
if world > 1:
    dist.init_process_group("nccl")
    mesh = torch.distributed.device_mesh.init_device_mesh("cpu", (world,))
    fully_shard(model, mesh=mesh)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
mine = slice(rank * 16 // world, (rank + 1) * 16 // world)
for step in range(5):
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(model(rows[mine]), targets[mine]).backward()
    optimizer.step()
total = sum((p.full_tensor() if hasattr(p, "full_tensor") else p).double().sum() for p in model.parameters())
if rank == 0:
    print(f"sum of parameters {total.item():.9f}")
if world > 1:
    dist.destroy_process_group()
"""

ZERO2_JOB = """
import argparse, glob, os, torch, deepspeed
parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int)
parser.parse_args()
deepspeed.init_distributed(dist_backend="nccl")
model = torch.nn.Linear(8, 8)
config = {"train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": 2},
          "optimizer": {"type": "AdamW", "params": {"lr": 0.01, "torch_adam": True}}}
engine, _, _, _ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=config)
for step in range(3):
    loss = engine(torch.ones(4, 8)).square().mean()
    engine.backward(loss)
    engine.step()
torch.distributed.barrier()
if torch.distributed.get_rank() == 0:
    print("ZeRO-2 trained with", torch.distributed.get_backend())
    for left in glob.glob("/dev/shm/deepspeed_allreduce_buffer_*_{MASTER_PORT}_*".format(**os.environ)):
        os.remove(left)  # DeepSpeed itself leaves them
"""


# The third rank never comes, as where one GPU of the host is ill.
THIRD_RANK_HANGS = """import os, threading
import torch.distributed
if os.environ["RANK"] == "2":
    threading.Event().wait()
torch.distributed.init_process_group("gloo")
torch.distributed.barrier()
os.write(1, f"trained on {torch.distributed.get_world_size()}\\n".encode())
os._exit(0)
"""


class Healing(SafelaunchTest):
    def assert_healed_by_gloo(self, run):
        self.assert_status(run, 0)
        self.assertEqual(run.outcome["worked_with"], "gloo-fallback", str(run))
        self.assertEqual(run.attempts[0]["end"], "failed in communication", str(run))
        self.assertEqual(run.attempts[0]["cause"]["id"], "nccl-not-built", str(run))
        self.assertEqual(len(run.attempts), 2, str(run))

    def test_nccl_without_a_gpu_is_healed_under_own_spawn(self):
        run = self.run_safelaunch("--nproc-per-node", "2", "--", sys.executable, DDP, *NCCL_JOB)
        self.assert_healed_by_gloo(run)
        self.assertIn("with gloo: loss", run.out)

    def test_nccl_without_a_gpu_is_healed_under_accelerate(self):
        run = self.run_safelaunch(BIN / "accelerate", "launch", "--multi_gpu", "--num_processes", "2", DDP, *NCCL_JOB,
                                  env=self.environment(ACCELERATE_USE_CPU="true"))
        self.assert_healed_by_gloo(run)

    def test_fsdp2_healed_by_gloo_under_torchrun_trains_as_one_process_does(self):
        script = self.script(FSDP2_JOB)
        alone = self.run_safelaunch("--only", "--", sys.executable, script)
        healed = self.run_safelaunch(*torchrun("--nproc_per_node=2", script))
        self.assert_healed_by_gloo(healed)
        single, sharded = (float(run.out.split("sum of parameters")[1]) for run in (alone, healed))
        self.assertAlmostEqual(single, sharded, places=5)

    def test_zero_2_under_deepspeed_is_healed(self):
        run = self.run_safelaunch(BIN / "deepspeed", "--num_gpus", "2", self.script(ZERO2_JOB), timeout=400,
                                  env=self.environment(TORCH_EXTENSIONS_DIR=kept_extensions()))
        self.assert_healed_by_gloo(run)
        self.assertIn("ZeRO-2 trained with gloo", run.out)

    def test_a_ladder_of_processes_ends_on_the_number_that_works(self):
        ladder = self.folder / "fewer.yaml"
        ladder.write_text("processes: [3, 2]\ncost: large\ntimeouts: {init: 3s, quiet: 3s}\n")
        run = self.run_safelaunch("--profile", ladder, *torchrun("--nproc_per_node=4", self.script(THIRD_RANK_HANGS)))
        self.assert_status(run, 0)
        self.assertEqual([attempt["profile"] for attempt in run.attempts], ["fewer@3", "fewer@2"], str(run))
        self.assertEqual(run.out.count("trained on 2"), 2, str(run))


if __name__ == "__main__":
    main(needs=("torch", "deepspeed", "accelerate"))
