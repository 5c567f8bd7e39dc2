"""What the GPU tests share: is there a GPU, the jobs, the figures, and doubles in the GPU's place where one is to be done without.

SAFELAUNCH_GPU_FIGURES names a file to which each figure is appended as a line of JSON. With SAFELAUNCH_GPU_DOUBLES=1 the device
and NCCL are doubles (tests/doubles/README.md), and no figure means anything.
"""

import json
import os
import pathlib
import subprocess
import sys
import threading
import unittest

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "integration"), str(TESTS / "cuda"), str(TESTS / "faults")]
from harness import SAFELAUNCH, SKIPPED, SafelaunchTest, free_port, kept_extensions, torchrun, wait_until  # noqa: E402, F401
import over_doubles  # noqa: E402
import workbench  # noqa: E402, F401
from comparison import false_alarms  # noqa: E402, F401

JOBS = pathlib.Path(__file__).resolve().parent / "jobs"
DOUBLES = os.environ.get("SAFELAUNCH_GPU_DOUBLES") == "1"
writing = threading.Lock()


def device(fault=""):
    """The variables that give a job its GPU; a fault is one of the doubles'."""
    return {**over_doubles.over_doubles(fault, gpus=1), "PYTHONWARNINGS": "ignore"} if DOUBLES else {}


def why_no_gpu():
    code = "import torch; print(torch.cuda.is_available() and torch.distributed.is_nccl_available())"
    try:
        answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env={**os.environ, **device()})
    except subprocess.TimeoutExpired:
        return "torch does not answer whether there is a GPU"
    if answer.returncode != 0:
        return "this Python has no torch"
    return None if answer.stdout.strip() == "True" else "no GPU that torch can use with NCCL"


def job(name, ranks=2, *arguments):
    """torchrun's words for one of the jobs."""
    return torchrun("--nproc_per_node", str(ranks), "--master_port", str(free_port()), str(JOBS / name), *arguments)


def write(line):
    """A line of JSON for the docs, and for whoever reads the output."""
    text = json.dumps(line)
    with writing:
        print(text, flush=True)
        path = os.environ.get("SAFELAUNCH_GPU_FIGURES")
        if path:
            with open(path, "a") as file:
                file.write(text + "\n")


def record(name, value, unit, note=""):
    write({"name": name, "value": value, "unit": unit, "note": note})


class GpuTest(SafelaunchTest):
    """A test with the real GPU; the jobs' environment is the user's own."""

    limit = 180  # seconds for one run of safelaunch

    def environment(self, fault="", **more):
        environment = super().environment(**{**device(fault), "TORCH_EXTENSIONS_DIR": kept_extensions(), **more})
        environment.pop("DS_ACCELERATOR")  # DeepSpeed finds its accelerator by itself
        return environment

    def run_safelaunch(self, *words, **options):
        return super().run_safelaunch(*words, **{"timeout": self.limit, **options})


def main():
    reason = why_no_gpu()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
