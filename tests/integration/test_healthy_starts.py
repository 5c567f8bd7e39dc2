"""Scene l: however slowly and unevenly a healthy job starts, nobody is blamed."""

import concurrent.futures
import pathlib
import sys

from harness import SOAK, SafelaunchTest, main

LIGHT_WORKER = str(pathlib.Path(__file__).with_name("light_worker.py"))
STARTS = 1000 if SOAK else 10
AT_ONCE = 2
# The default deadlines, a minute scaled to about a second; a rank dawdles for one at most.
DEADLINES = ["--init-timeout", "6s", "--collective-timeout", "6s", "--quiet-timeout", "3s"]


class HealthyStarts(SafelaunchTest):
    """Scene l. A light worker walks the stages of a real one, with random delays of work and of sleep."""

    def start_slowly(self, seed):
        return self.run_safelaunch(*DEADLINES, "--nproc-per-node", "4", "--", sys.executable, LIGHT_WORKER, str(seed))

    def test_a_slow_but_healthy_start_is_no_hang(self):
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            for seed, run in enumerate(pool.map(self.start_slowly, range(STARTS))):
                with self.subTest(seed=seed):
                    self.assert_status(run, 0)
                    self.assertIn("4 ranks met", run.out)
                    self.assertEqual(len(run.attempts), 1, str(run))
                    self.assertNotIn("verdict", [event["e"] for event in run.events], str(run))
                    self.assertIn("training", [event["e"] for event in run.events], str(run))


if __name__ == "__main__":
    main(needs=())
