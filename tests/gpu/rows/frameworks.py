"""The frameworks that people train with, each healthy, and the waits of their own that safelaunch has to see through."""

import importlib.util
import sys

from gpu_harness import JOBS, TESTS, free_port, job
from row import PATIENT, SHORT, Row, Said, healthy, named, spawned

JAX = TESTS / "cuda/jobs/jax_first_call.py"
PLACE = r"^Rank 1 was missing"


def with_module(module, play):
    """A Python without it cannot play the row, and the row says so."""
    return lambda scene: play(scene) if importlib.util.find_spec(module) else Said(True, None, f"this Python has no {module}")


def trained(*command, words=("passed 0", "passed 1"), **variables):
    return lambda scene: healthy(scene.run_safelaunch(*SHORT, "--work-timeout", "60s", "--", *command, env=scene.environment(**variables)), *words)


def missing(*command, says=PLACE, **variables):
    return lambda scene: named(scene.run_safelaunch(*SHORT, "--", *command, env=scene.environment(**variables)), ["rank-missing"], says)


def accelerate(name):
    return ["-m", "accelerate.commands.launch", "--multi_gpu", "--num_machines", "1", "--num_processes", "2", "--main_process_port", str(free_port()),
            str(JOBS / name)]


def deepspeed(name):
    return [sys.executable, "-m", "deepspeed.launcher.runner", "--num_gpus", "2", "--master_port", str(free_port()), str(JOBS / name)]


def over_gloo(module, *command, words):
    """The whole framework, with CUDA tensors, where NCCL is not to be had."""
    def play(scene):
        return healthy(scene.run_safelaunch("--profile", "gloo-fallback", *PATIENT, "--", *command, env=scene.environment()), *words)

    return Row(f"over gloo: {module}", 60, with_module(module, play))


def jax(fault):
    def play(scene):
        run = scene.run_safelaunch(*SHORT, *spawned(str(JAX)), env=scene.environment(FAULT=fault, XLA_PYTHON_CLIENT_PREALLOCATE="false"))
        if not fault:
            said = healthy(run)
            return said if not said.ok or run.out.count("passed") == 2 else Said(False, None, "a process did not pass")
        return named(run, ["rank-missing"], PLACE + r".* in jax_first_call\.py:\d+ never_comes")

    return with_module("jax", play)


ROWS = [
    Row("lightning", 30, with_module("lightning", trained(*job("lightning_fit.py")))),
    Row("transformers", 40, with_module("transformers", trained(*job("transformers_trainer.py"), words=("passed 0 of 2 with nccl", "passed 1")))),
    Row("accelerate launch", 40, with_module("accelerate", trained(sys.executable, *accelerate("train.py"), words=("trained on 2 ranks with nccl",)))),
    Row("deepspeed", 60, with_module("deepspeed", trained(*deepspeed("deepspeed_zero.py")))),
    Row("deepspeed: rank 1 absent", 60, with_module("deepspeed", missing(*deepspeed("deepspeed_zero.py"), ABSENT_RANK="1"))),
    Row("jax", 40, jax("")),
    Row("jax: process 1 absent", 40, jax("absent-before-init")),
    over_gloo("lightning", *job("lightning_fit.py"), words=("passed 0", "passed 1")),
    over_gloo("transformers", *job("transformers_trainer.py"), words=("passed 0 of 2 with gloo", "passed 1")),
    over_gloo("accelerate", sys.executable, *accelerate("train.py"), words=("trained on 2 ranks with gloo",)),
    over_gloo("deepspeed", *deepspeed("deepspeed_zero.py"), words=("passed 0", "passed 1")),
]
