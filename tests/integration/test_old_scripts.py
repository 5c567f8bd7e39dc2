"""The shell scripts that examples/from-scripts.md replaces: the old exports and arguments, and what the new line gives the job."""

import importlib.util
import json
import pathlib
import subprocess
import sys
import unittest

from harness import SAFELAUNCH, SafelaunchTest, free_port, kept_extensions, main, torchrun

DOUBLES = pathlib.Path(SAFELAUNCH).resolve().parents[2] / "tests/doubles/lib"

# It prints the variables of NCCL and its own arguments, as a training script would see them.
JOB = """
import json, os, sys
ours = {"NCCL_DEBUG_FILE", "NCCL_PROFILER_PLUGIN", "NCCL_RAS_ADDR", "NCCL_SOCKET_MAGIC", "NCCL_CONF_FILE"}
print(json.dumps([{name: value for name, value in os.environ.items() if name.startswith("NCCL_") and name not in ours}, sys.argv[1:]]))
"""
ARGUMENTS = ["--num_workers", "4", "--batch_size", "1024", "--pin_memory"]

# By profile: what the script exported, the arguments that it gave, and what else the new line says.
OLD = {
    "basic": ("export NCCL_DEBUG=INFO", ARGUMENTS, "--set", "NCCL_DEBUG=INFO"),
    "minimal": ("export NCCL_IB_DISABLE=1 NCCL_DEBUG=INFO", ARGUMENTS),
    "low-resources": ("export NCCL_IB_DISABLE=1 NCCL_P2P_DISABLE=1", ["--num_workers", "0", "--batch_size", "256"]),
    "gpu-cache": ("", ["--num_workers", "1", "--batch_size", "1024", "--pin_memory", "--use_gpu_cache", "--gpu_cache_size", "5000"]),
    "prefetch": ("", ["--num_workers", "1", "--batch_size", "1024", "--pin_memory", "--use_prefetch", "--prefetch_factor", "2"]),
}

ASKS_FOR_NCCL = """
import torch, torch.distributed as dist
dist.init_process_group("nccl")
total = torch.ones(1)
dist.all_reduce(total)
print(f"{dist.get_backend()} {total.item()}\\n", end="", flush=True)  # in one write, for both ranks have one pipe
dist.destroy_process_group()
"""

MULTI_NODE = """
addr=$1 port=$2 devices=$4 world=$5 rank=$6
shift 6
IFS=,
local=0
for device in $devices; do
  MASTER_ADDR=$addr MASTER_PORT=$port WORLD_SIZE=$world RANK=$rank LOCAL_RANK=$local CUDA_VISIBLE_DEVICES=$devices "$@"
  rank=$((rank + 1)) local=$((local + 1))
done
"""
PLACE = """
import json, os
names = ["MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK", "LOCAL_RANK", "CUDA_VISIBLE_DEVICES"]
print(json.dumps({name: os.environ.get(name) for name in names}), flush=True)
"""

# What the old diagnoses printed: versions, and whether ranks could meet and reduce. On the CPU, so that any host can run them.
DIAGNOSE_NCCL = """
import json, torch, torch.distributed as dist
dist.init_process_group("gloo")
values = torch.full((4,), dist.get_rank() + 1.0)
dist.all_reduce(values)
if dist.get_rank() == 0:
    print(json.dumps({"torch": torch.__version__, "works": values.tolist() == [3.0] * 4}))
dist.destroy_process_group()
"""
DEBUG_DISTRIBUTED = """
import json, os, torch.distributed as dist
names = ["RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"]
dist.init_process_group("gloo")
print(json.dumps({"world": {name: os.environ[name] for name in names}, "works": dist.get_world_size() == int(os.environ["WORLD_SIZE"])}))
dist.destroy_process_group()
"""
DEBUG_DEEPSPEED = """
import json, os, deepspeed, torch
os.environ.update(RANK="0", WORLD_SIZE="1", LOCAL_RANK="0", MASTER_ADDR="127.0.0.1")
deepspeed.init_distributed(dist_backend="gloo", auto_mpi_discovery=False)
print(json.dumps({"deepspeed": deepspeed.__version__, "torch": torch.__version__, "works": torch.distributed.is_initialized()}))
torch.distributed.destroy_process_group()
"""


class OldScripts(SafelaunchTest):
    def old(self, exports, arguments):
        shell = ["sh", "-c", f'{exports}\nexec "$@"', "old", sys.executable, self.script(JOB), *arguments]
        return json.loads(subprocess.run(shell, env=self.environment(), capture_output=True, text=True, check=True).stdout)

    def assert_profile_does_what_the_script_did(self, profile):
        exports, given, *more = OLD[profile]
        variables, arguments = self.old(exports, given)
        run = self.run_safelaunch("--profile", profile, *more, "--", sys.executable, self.script(JOB), *ARGUMENTS)
        self.assert_status(run, 0)
        seen, words = json.loads(run.out)
        self.assertEqual({name: seen.get(name) for name in variables}, variables, str(run))
        self.assertEqual(words, arguments, str(run))

    def said_by(self, command, **variables):
        run = subprocess.run(command, env=self.environment(**variables), cwd=self.folder, stdin=subprocess.DEVNULL,
                             capture_output=True, text=True, check=True, timeout=300)
        return json.loads(next(line for line in run.stdout.splitlines() if line.startswith("{")))

    def trial(self, *words, **variables):
        run = subprocess.run([SAFELAUNCH, "test", "--json", *words, "--", sys.executable], cwd=self.folder,
                             env=self.environment(**variables), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        return json.loads(run.stdout)

    def assert_tells_what_the_script_told(self, told, old, backend):
        tried = {one["backend"]: one for one in told["backends"]}
        self.assertEqual(tried[backend]["works"], old["works"])
        for package in {"torch", "deepspeed"} & old.keys():
            self.assertEqual(told["python"]["packages"][package], old[package])
        self.assertIn("interfaces", [theme["what"] for theme in told["host"]["looked_at"]])

    def test_train_sft_gloo(self):
        run = self.run_safelaunch("--profile", "gloo-fallback", *torchrun("--nproc_per_node=2", self.script(ASKS_FOR_NCCL)))
        self.assert_status(run, 0)
        self.assertEqual(sorted(line for line in run.out.splitlines() if line), ["gloo 2.0", "gloo 2.0"])
        self.assertEqual(len(run.attempts), 1)

    def test_launch_multi_node_diff_devices(self):
        # ADDR PORT NODE DEVICES WORLD START, as that script was called on each of two nodes. Both are this host here, which the
        # checks would not let pass.
        port = str(free_port())
        nodes = [("127.0.0.1", port, "0", "0,1", "3", "0"), ("127.0.0.1", port, "1", "1", "3", "2")]
        old = [json.loads(line) for node in nodes
               for line in subprocess.run(["sh", "-c", MULTI_NODE, "old", *node, sys.executable, self.script(PLACE)], check=True,
                                          env=self.environment(), capture_output=True, text=True).stdout.splitlines()]
        with_gpus = self.environment(LD_LIBRARY_PATH=str(DOUBLES), SAFELAUNCH_DOUBLE_GPUS="2")
        agents = [self.start("--no-preflight", "--nnodes", "2", "--node-rank", node, "--master-addr", address, "--master-port", port, "--devices", devices,
                             "--world-size", world, "--start-rank", start, "--", sys.executable, self.script(PLACE), env=with_gpus)
                  for address, port, node, devices, world, start in nodes]
        runs = [self.finish(agent) for agent in agents]
        for run in runs:
            self.assert_status(run, 0)
        new = [json.loads(line) for run in runs for line in run.out.splitlines()]
        self.assertEqual(sorted(new, key=str), sorted(old, key=str))

    def test_diagnose_nccl(self):
        old = self.said_by(torchrun("--nproc_per_node=2", f"--master_port={free_port()}", self.script(DIAGNOSE_NCCL)))
        self.assert_tells_what_the_script_told(self.trial("--backend", "gloo"), old, "gloo")

    def test_debug_distributed(self):
        world = {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
        old = self.said_by([sys.executable, self.script(DEBUG_DISTRIBUTED)], **world)
        self.assertEqual(old["world"], world)
        doctor = subprocess.run([SAFELAUNCH, "doctor"], env=self.environment(**world), capture_output=True, text=True)
        self.assertIn(f"RANK=0 of 1 at 127.0.0.1:{world['MASTER_PORT']} looks right", doctor.stdout)
        self.assert_tells_what_the_script_told(self.trial("--backend", "gloo", **world), old, "gloo")

    @unittest.skipUnless(importlib.util.find_spec("deepspeed"), "this Python has no DeepSpeed")
    def test_debug_deepspeed_init(self):
        cache = kept_extensions()
        old = self.said_by([sys.executable, self.script(DEBUG_DEEPSPEED)], MASTER_PORT=str(free_port()), TORCH_EXTENSIONS_DIR=cache)
        self.assert_tells_what_the_script_told(self.trial("--backend", "deepspeed", TORCH_EXTENSIONS_DIR=cache), old, "deepspeed")


for name in OLD:
    def test(self, name=name):
        self.assert_profile_does_what_the_script_did(name)
    setattr(OldScripts, "test_" + name.replace("-", "_"), test)

if __name__ == "__main__":
    main()
