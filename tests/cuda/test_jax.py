"""JAX on "GPUs": its own CUDA plugin, XLA's compiler and its calls of NCCL are real.

SAFELAUNCH_TEST_JAX_CUDA_PYTHON names a Python that has it; skipped where it names none (README.md says what it needs).
"""

import os
import pathlib
import sys
import unittest

from over_doubles import DEADLINES, JOBS, SKIPPED, CudaTest, free_port, note, why_not

PYTHON = os.environ.get("SAFELAUNCH_TEST_JAX_CUDA_PYTHON", "")
JOB = str(JOBS / "jax_first_call.py")


class Jax(CudaTest):
    def play(self, fault="", double="", options=DEADLINES):
        words = ["--nproc-per-node", 2, "--master-port", free_port(), "--", PYTHON, JOB]
        run = self.run_job(*words, fault=double, FAULT=fault, XLA_PYTHON_CLIENT_PREALLOCATE="false", JAX_SKIP_CUDA_CONSTRAINTS_CHECK="1",
                           TF_CPP_MIN_LOG_LEVEL="3", options=options)
        note(fault=double or fault, kind="jax", status=run.status, cause=self.cause(run).get("id"), seconds=run.attempts[0]["seconds"],
             profiles=[one["profile"] for one in run.attempts], took=round(run.seconds, 1))
        return run

    def test_a_healthy_one_is_left_alone(self):
        run = self.play()
        self.assertEqual((run.status, run.out.count("passed"), len(run.attempts)), (0, 2, 1), str(run))
        self.assertNotIn("safelaunch:", run.err)
        self.assertIn("training", [event["e"] for event in run.events])

    def test_broken_peer_to_peer_copies_are_healed(self):
        run = self.play(double="p2p-hang")
        self.assert_hung(run, "gpu-p2p", says=r"jax_first_call\.py:\d+ ")
        self.assert_status(run, 0)
        self.assertEqual([one["profile"] for one in run.attempts], ["basic", "no-p2p"], str(run))
        self.assertEqual(run.out.count("passed"), 2, str(run))

    def test_a_process_that_never_comes_to_init_is_named(self):
        run = self.play("absent-before-init")
        self.assert_hung(run, "rank-missing", says=r"^Rank 1 was missing.* in jax_first_call\.py:\d+ never_comes")
        self.assert_status(run, 124)

    def test_a_process_that_never_calls_it_is_told_by_its_place_where_a_start_may_stand_still_for_so_long(self):
        """Here the other waits in XLA, before it has begun to make NCCL's communicator: no clock runs."""
        run = self.play("absent-before-call", options=[*DEADLINES, "--start-timeout", "6s"])
        self.assert_hung(run, "start-stuck", says=r"rank 1 in jax_first_call\.py:\d+ never_comes")
        self.assert_status(run, 124)


if __name__ == "__main__":
    if why := why_not() or (None if pathlib.Path(PYTHON).is_file() else "SAFELAUNCH_TEST_JAX_CUDA_PYTHON names no Python"):
        print("skipped:", why)
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
