"""What the GPU tests share: is there a GPU, the jobs, and the figures that docs/gpu.md takes over.

SAFELAUNCH_GPU_FIGURES names a file to which each figure is appended as a line of JSON.
"""

import json
import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
from harness import SAFELAUNCH, SKIPPED, SafelaunchTest, torchrun, wait_until  # noqa: E402, F401

JOBS = pathlib.Path(__file__).resolve().parent / "jobs"


def why_no_gpu():
    code = "import torch; print(torch.cuda.is_available() and torch.distributed.is_nccl_available())"
    try:
        answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    except subprocess.TimeoutExpired:
        return "torch does not answer whether there is a GPU"
    if answer.returncode != 0:
        return "this Python has no torch"
    return None if answer.stdout.strip() == "True" else "no GPU that torch can use with NCCL"


def job(name, ranks=2, *arguments):
    """torchrun's words for one of the jobs."""
    return torchrun("--nproc_per_node", str(ranks), str(JOBS / name), *arguments)


def record(name, value, unit, note=""):
    """A figure for the docs, and for whoever reads the test's output."""
    line = json.dumps({"name": name, "value": value, "unit": unit, "note": note})
    print("figure", line, flush=True)
    path = os.environ.get("SAFELAUNCH_GPU_FIGURES")
    if path:
        with open(path, "a") as file:
            file.write(line + "\n")


class GpuTest(SafelaunchTest):
    """A test with the real GPU; the jobs' environment is the user's own."""


def main():
    reason = why_no_gpu()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
