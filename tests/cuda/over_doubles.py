"""What the tests over torch's own CUDA build share: the Python that has it, and the doubles of the device below it.

SAFELAUNCH_TEST_CUDA_PYTHON names that Python (scripts/setup --cuda makes one), SAFELAUNCH_DOUBLES the folder of the doubles.
Torch, its ProcessGroupNCCL and the launchers are real; NCCL and the device are not (tests/doubles/README.md).
"""

import concurrent.futures
import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
import harness  # noqa: E402
from harness import APART, SAFELAUNCH, SKIPPED, SOAK, SafelaunchTest, free_port, wait_until  # noqa: E402, F401

BUILD = pathlib.Path(SAFELAUNCH).parents[2]
PYTHON = os.environ.get("SAFELAUNCH_TEST_CUDA_PYTHON", str(harness.ROOT / "build/venv-cuda/bin/python"))
DOUBLES = os.environ.get("SAFELAUNCH_DOUBLES", str(BUILD / "tests/doubles/lib"))
JOBS = pathlib.Path(__file__).resolve().parent / "jobs"
OF_THE_DRIVER = ("libcuda.so.1", "libnvidia-ml.so.1")  # all others come with torch
# Ranks that import torch are at work, so no clock runs meanwhile. The profile that heals the cause is tried, and not looked for.
DEADLINES = ["--init-timeout", "4s", "--collective-timeout", "4s", "--quiet-timeout", "3s", "--probe", "never"]
AT_ONCE = 5  # jobs: while one waits for its deadline the others import torch


def torchrun(*words, ranks=2):
    return [PYTHON, "-m", "torch.distributed.run", f"--nproc_per_node={ranks}", f"--master_port={free_port()}", *words]


def spawned(*words, ranks=2):
    """Ranks that safelaunch starts itself."""
    return ["--nproc-per-node", ranks, "--master-port", free_port(), "--", PYTHON, *words]


def forked(*words, ranks=2):
    """Ranks that a script forks when it has imported torch, once for all."""
    return [PYTHON, harness.BY_FORK, ranks, free_port(), *words]


def over_doubles(fault="", gpus=2, nccl="2.30.7"):
    """The variables that put the doubles in the place of NVIDIA's libraries. Where those are installed too, torch's libraries
    find them first, by their RPATH, unless ours are preloaded."""
    brought = [str(path) for path in sorted(pathlib.Path(DOUBLES).glob("*.so.*")) if path.name not in OF_THE_DRIVER]
    are_installed = any(pathlib.Path(PYTHON).parents[1].glob("lib/*/site-packages/nvidia"))
    preload = {"LD_PRELOAD": " ".join(brought)} if are_installed else {}
    return {"LD_LIBRARY_PATH": DOUBLES, **preload,
            "SAFELAUNCH_DOUBLE_GPUS": str(gpus), "SAFELAUNCH_DOUBLE_NCCL": nccl, "SAFELAUNCH_DOUBLE_FAULT": fault}


class CudaTest(SafelaunchTest):
    def environment(self, fault="", gpus=2, **more):
        ours = {**over_doubles(fault, gpus), "PATH": f"{pathlib.Path(PYTHON).parent}:{os.environ.get('PATH', '')}",
                "PYTHONWARNINGS": "ignore", "TORCH_EXTENSIONS_DIR": harness.kept_extensions(PYTHON)}
        environment = super().environment(**{**ours, **more})
        environment.pop("DS_ACCELERATOR")  # DeepSpeed finds its accelerator as on a machine with GPUs
        return environment

    def run_job(self, *words, fault="", gpus=2, options=DEADLINES, timeout=240, **variables):
        return self.run_safelaunch(*options, *words, env=self.environment(fault, gpus, **variables), timeout=timeout)

    def each(self, names, work):
        """Does the work for every name, some at a time, and calls what it gives in a subtest of that name."""
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            for name, check in zip(names, pool.map(work, names)):
                with self.subTest(name):
                    check()

    def cause(self, run, attempt=0):
        return (run.attempts[attempt].get("cause") or {}) if run.attempts else {}

    def assert_hung(self, run, *causes, says=""):
        """The first attempt hung, for one of the causes, and its explanation says this."""
        self.assertTrue(run.attempts, str(run))
        self.assertEqual(run.attempts[0]["end"], "hung", str(run))
        self.assertIn(self.cause(run)["id"], causes, str(run))
        self.assertRegex(self.cause(run)["explanation"], says, str(run))

    def assert_silent(self, run):
        self.assertEqual((run.status, run.err), (0, ""), str(run))


def note(**row):
    """A row for whoever looks at the whole: SAFELAUNCH_CUDA_TABLE names a file of JSON lines."""
    if path := os.environ.get("SAFELAUNCH_CUDA_TABLE"):
        with open(path, "a") as file:
            file.write(json.dumps(row) + "\n")


def why_not():
    if not pathlib.Path(PYTHON).exists():
        return "no Python with torch's CUDA build: scripts/setup --tests --cuda makes one"
    if not pathlib.Path(DOUBLES, "libcudart.so.13").exists():
        return "the double of CUDA's runtime is not built, as NVIDIA's headers were not found"
    return None


def main():
    import unittest

    if why := why_not():
        print("skipped:", why)
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
