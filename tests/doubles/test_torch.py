"""torch's own CUDA build over the doubles: true collectives, layers that train, values that decide, faults.

SAFELAUNCH_TEST_CUDA_PYTHON names a Python with such a torch; without one the test is skipped.
"""

import glob
import os
import pathlib
import signal
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from free_port import free_port  # noqa: E402

DOUBLES = os.environ.get("SAFELAUNCH_DOUBLES", "")
PYTHON = os.environ.get("SAFELAUNCH_TEST_CUDA_PYTHON", "")
SCRIPTS = pathlib.Path(__file__).resolve().parent / "torch_scripts"
SKIPPED = 77


def environment(**more):
    """Of a process whose CUDA is the doubles'. The preload beats the RPATH of torch's libraries."""
    libraries = [path for path in glob.glob(f"{DOUBLES}/*.so.*") if "libcuda.so" not in path and "libnvidia-ml" not in path]
    keep = {name: value for name, value in os.environ.items() if not name.startswith(("NCCL_", "SAFELAUNCH_DOUBLE_"))}
    return {**keep, "LD_LIBRARY_PATH": DOUBLES, "LD_PRELOAD": " ".join(libraries), "SAFELAUNCH_DOUBLE_NCCL": "2.30.7",
            "NCCL_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1", **more}


def run(script, ranks=0, **more):
    """The finished process: a script, or its ranks under torchrun."""
    launcher = ["-m", "torch.distributed.run", "--nproc-per-node", str(ranks), "--master-port", str(free_port())] if ranks else []
    return subprocess.run([PYTHON, *launcher, str(SCRIPTS / script)], env=environment(**more), capture_output=True, text=True)


class Torch(unittest.TestCase):
    def succeeds(self, finished, words, times=1):
        self.assertEqual(finished.returncode, 0, finished.stderr[-3000:])
        self.assertEqual(finished.stdout.count(words), times)

    def test_layers_run_forward_and_backward(self):
        self.succeeds(run("operators.py"), "all layers trained")

    def test_values_that_decide_what_comes_next_are_true(self):
        self.succeeds(run("values.py"), "all values are true")

    def test_collectives_are_true(self):
        self.succeeds(run("collectives.py", ranks=2), "all collectives are true", times=2)

    def test_sharded_and_replicated_models_train(self):
        self.succeeds(run("training.py", ranks=2), "trained", times=2)


class Faults(unittest.TestCase):
    """Each acts in the third collective, and the first two are as without it."""

    def third(self, fault, **more):
        finished = run("faults.py", ranks=1, SAFELAUNCH_DOUBLE_FAULT=f"{fault}:3", **more)
        self.assertNotEqual(finished.returncode, 0)
        self.assertIn("finished 2", finished.stdout)
        self.assertNotIn("finished 3", finished.stdout)
        return finished.stderr

    def test_a_lost_device_fails_every_call(self):
        self.assertIn("CUDA error: unknown error", self.third("device-lost"))

    def test_an_uncorrectable_ecc_error_fails_every_call(self):
        self.assertIn("uncorrectable ECC error encountered", self.third("ecc"))

    def test_a_fault_for_another_rank_is_none_here(self):
        finished = run("faults.py", ranks=1, SAFELAUNCH_DOUBLE_FAULT="ecc:3@1")
        self.assertEqual(finished.returncode, 0, finished.stderr[-3000:])
        self.assertIn("finished 5", finished.stdout)

    def test_a_collective_that_hangs_keeps_the_rank_waiting(self):
        process = subprocess.Popen([PYTHON, str(SCRIPTS / "faults.py")], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                   env=environment(SAFELAUNCH_DOUBLE_FAULT="hang-in:3", RANK="0", LOCAL_RANK="0", WORLD_SIZE="1",
                                                   MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port())))
        self.assertEqual([process.stdout.readline() for _ in range(2)], ["finished 1\n", "finished 2\n"])
        with self.assertRaises(subprocess.TimeoutExpired):
            process.wait(1)
        process.kill()
        self.assertEqual((process.stdout.read(), process.wait()), ("", -signal.SIGKILL))
        process.stdout.close()


if __name__ == "__main__":
    if not PYTHON or not os.path.exists(PYTHON):
        print("skipped: SAFELAUNCH_TEST_CUDA_PYTHON names no Python with torch's CUDA build")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
