"""Jobs whose ranks stand still in the CUDA driver before they wait for each other: the driver itself is asked.

Over the doubles of tests/doubles, as test_nccl_scenes.py.
"""

import os
import sys
import unittest

from harness import SKIPPED, SafelaunchTest

DOUBLES = os.environ.get("SAFELAUNCH_DOUBLES", "")
WORKER = os.environ.get("SAFELAUNCH_WORKER", "")
SHORT = ["--init-timeout", "4s", "--quiet-timeout", "2s"]

# Uses the driver and nothing else, and then rests for longer than it takes until the driver is asked.
RESTS_WITH_THE_DRIVER = """
import ctypes
import time

assert ctypes.CDLL("libcuda.so.1").cuInit(0) == 0
time.sleep(12)
print("done", flush=True)
"""

RESTS_WITHOUT_IT = "import time; time.sleep(6); print('done', flush=True)\n"


class TheDriver(SafelaunchTest):
    def run_job(self, *command, ranks=3, options=(), **environment):
        double = {"LD_LIBRARY_PATH": DOUBLES, "SAFELAUNCH_DOUBLE_GPUS": str(ranks), **environment}
        return self.run_safelaunch(*SHORT, *options, "--nproc-per-node", ranks, "--", *command,
                                   env=self.environment(**double))

    def assert_silent(self, run):
        self.assert_status(run, 124)
        (attempt,) = run.attempts
        self.assertEqual((attempt["end"], attempt["cause"]["id"], attempt["cause"]["certainty"]),
                         ("hung", "driver-silent", "confirmed"), str(run))
        self.assertIn("anks 0-2 stand still with the CUDA driver loaded", attempt["cause"]["explanation"])
        self.assertLess(run.seconds, 60, str(run))

    def assert_left_alone(self, run):
        self.assert_status(run, 0)
        self.assertEqual(run.out.count("done"), 2, str(run))
        self.assertEqual(len(run.attempts), 1, str(run))

    def test_one_that_never_answers_is_named_where_nothing_else_is_seen_of_the_ranks(self):
        self.assert_silent(self.run_job(WORKER, SAFELAUNCH_DOUBLE_CUDA="hang"))

    def test_one_that_never_answers_is_named_in_python_too(self):
        script = self.script(RESTS_WITH_THE_DRIVER)
        self.assert_silent(self.run_job(sys.executable, script, SAFELAUNCH_DOUBLE_CUDA="hang"))

    def test_a_job_that_rests_with_a_healthy_driver_is_left_alone(self):
        for options in ([], ["--no-hook"]):
            with self.subTest(options):
                script = self.script(RESTS_WITH_THE_DRIVER)
                self.assert_left_alone(self.run_job(sys.executable, script, ranks=2, options=options))

    def test_a_job_that_does_not_use_the_driver_is_left_alone_beside_a_silent_one(self):
        script = self.script(RESTS_WITHOUT_IT)
        self.assert_left_alone(self.run_job(sys.executable, script, ranks=2, SAFELAUNCH_DOUBLE_CUDA="hang"))

    def test_a_crash_in_the_driver_is_no_silence(self):
        run = self.run_job(WORKER, SAFELAUNCH_DOUBLE_CUDA="crash")
        self.assert_status(run, 139)


if __name__ == "__main__":
    if not (DOUBLES and WORKER):
        print("skipped: SAFELAUNCH_DOUBLES and SAFELAUNCH_WORKER do not say where the doubles are")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
