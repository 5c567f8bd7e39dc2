"""Scene k: what hangs after its first collective is never started again."""

import signal
import subprocess
import sys

from harness import DDP, SafelaunchTest, main, wait_until

LATE = ["--", sys.executable, DDP, "--steps", "5", "--hang", "late", "--bad-rank", "1"]
SHORT = ["--init-timeout", "4s", "--collective-timeout", "4s", "--quiet-timeout", "2s", "--grace", "5s"]


class Training(SafelaunchTest):
    """Scene k. Rank 1 sticks in the middle of the training; rank 0 waits for it in a collective."""

    def test_a_standstill_in_training_is_reported_with_the_lagging_rank_and_never_relaunched(self):
        job = self.start(*SHORT, "--stall-timeout", "5s", "--nproc-per-node", "2", *LATE)
        events = job.run_directory / "events.jsonl"
        # DDP's own imports after the first collective may be taken for a standstill, in which nobody is behind.
        wait_until(lambda: events.exists() and "is behind" in events.read_text(), what="the report of the standstill")
        self.assertIsNone(job.poll(), "the job must go on")
        job.send_signal(signal.SIGTERM)
        run = self.finish(job)
        self.assert_status(run, 128 + signal.SIGTERM)
        self.assertEqual(len(run.attempts), 1, str(run))
        self.assertRegex(run.err, r"no output and no collective finished for \d+s; rank 1 is behind")

    def test_without_stall_timeout_training_is_left_alone(self):
        job = self.start(*SHORT, "--nproc-per-node", "2", *LATE)
        events = job.run_directory / "events.jsonl"
        wait_until(lambda: events.exists() and '"training"' in events.read_text(), what="the first collective")
        with self.assertRaises(subprocess.TimeoutExpired, msg="every deadline of a start has passed by then"):
            job.communicate(timeout=8)
        job.send_signal(signal.SIGTERM)
        run = self.finish(job)
        self.assert_status(run, 128 + signal.SIGTERM)
        self.assertEqual(len(run.attempts), 1, str(run))
        self.assertNotIn("hung", run.err)


if __name__ == "__main__":
    main()
