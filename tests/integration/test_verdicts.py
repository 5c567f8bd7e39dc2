"""Scenes h and j: the chain comes to its end, or there is nothing that another attempt could heal."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import unittest

from harness import DDP, SafelaunchTest, main, torchrun, wait_until

SHORT = ["--init-timeout", "3s", "--collective-timeout", "3s", "--quiet-timeout", "2s"]
AT_ONCE = ["--init-timeout", "600s", "--collective-timeout", "600s"]  # longer than a test waits for its run
TWO_RANKS = ["--nproc-per-node", "2", "--", sys.executable]
HANGS = [*TWO_RANKS, DDP, "--hang", "never-init"]
MEBIBYTE = 1 << 20


class EveryProfileHangs(SafelaunchTest):
    """Scene h."""

    def assert_hung(self, run, profiles):
        self.assert_status(run, 124)
        self.assertEqual([attempt["profile"] for attempt in run.attempts], profiles, str(run))
        for number, attempt in enumerate(run.attempts, 1):
            self.assertEqual((attempt["end"], attempt["cause"]["id"]), ("hung", "rank-missing"))
            stack = run.directory / f"attempt-{number}-{attempt['profile']}" / "evidence" / "rank-1.stack"
            self.assertIn("never_reaches_init", stack.read_text())

    def test_it_ends_with_124_and_the_evidence_of_each_attempt_is_kept(self):
        run = self.run_safelaunch(*SHORT, "--profile", "basic,gloo-fallback", *HANGS)
        self.assert_hung(run, ["basic", "gloo-fallback"])
        self.assertIn("exit status 124", run.err)
        self.assertIn(str(run.directory), run.err)

    def test_an_exception_of_a_ranks_child_does_not_become_the_ranks(self):
        script = self.script("""import datetime, os, subprocess, sys, threading
import torch.distributed
if os.environ["RANK"] == "1":
    threading.Event().wait()
subprocess.run([sys.executable, "-c", "import no_such_extension"], stderr=subprocess.DEVNULL)
try:
    torch.distributed.init_process_group("gloo", timeout=datetime.timedelta(seconds=1))
except Exception:
    pass
torch.distributed.init_process_group("gloo")
""")
        # Longer than torch's own timeout, so that the hang is that of the second init.
        run = self.run_safelaunch("--init-timeout", "8s", "--quiet-timeout", "600s", "--only", *TWO_RANKS, script)
        self.assert_status(run, 124)
        self.assertEqual([one["cause"]["id"] for one in run.attempts], ["rank-missing"], str(run))

    def test_only_the_first_profile_is_tried_with_only(self):
        run = self.run_safelaunch(*SHORT, "--only", *HANGS)
        self.assert_hung(run, ["basic"])
        self.assertIn("--only: the job is started once", run.err)

    def test_max_attempts_bounds_the_chain(self):
        self.assert_hung(self.run_safelaunch(*SHORT, "--profile", "basic,conservative", "--max-attempts", "1", *HANGS), ["basic"])


class NothingToHeal(SafelaunchTest):
    """Scene j: no relaunch, and the cause is named at once."""

    def assert_one_attempt(self, run, status, cause):
        self.assert_status(run, status)
        self.assertEqual([attempt["cause"]["id"] for attempt in run.attempts], [cause], str(run))

    def test_an_exception_of_the_users_own(self):
        for launcher in (TWO_RANKS, torchrun("--nproc_per_node=2")):
            with self.subTest(launcher=launcher[0]):
                run = self.run_safelaunch(*launcher, DDP, "--hang", "raise")
                self.assert_one_attempt(run, 1, "user-exception")
                self.assertIn("ValueError: an error of the user's own", run.err.splitlines()[-1])

    def test_no_attempt_follows_a_schedulers_warning(self):
        """Slurm's `--signal=USR1@120`: the script saves, and must not be started again."""
        script = self.script("""import os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
import torch.distributed
open("ready-" + os.environ["RANK"], "w").close()
signal.sigwait([signal.SIGUSR1])
torch.distributed.init_process_group("nccl")
""")
        job = self.start(*TWO_RANKS, script)
        wait_until(lambda: all((self.folder / f"ready-{rank}").exists() for rank in (0, 1)), what="both ranks")
        job.send_signal(signal.SIGUSR1)
        run = self.finish(job)
        self.assert_one_attempt(run, 1, "nccl-not-built")
        self.assertIn("SIGUSR1 or SIGUSR2 arrived; schedulers send it before they end a job", run.err)

    def test_with_json_the_first_ranks_last_words_stand_before_the_object(self):
        run = self.run_safelaunch("--json", *TWO_RANKS, DDP, "--hang", "raise")
        self.assert_one_attempt(run, 1, "user-exception")
        words, brace, rest = run.err.rpartition("\n{\n")
        self.assertEqual(json.loads(brace + rest), run.outcome)
        self.assertIn("failed first. Its last output:", words)
        self.assertIn("ValueError: an error of the user's own", words)

    def test_a_world_size_that_differs_between_ranks(self):
        run = self.run_safelaunch(*AT_ONCE, *self.changed_for_rank_1("WORLD_SIZE=3"))
        self.assert_one_attempt(run, 124, "world-size-mismatch")
        self.assertRegex(run.err, r"rank 0 says 2, rank 1 says 3|rank 1 says 3, rank 0 says 2")

    def test_a_rank_that_is_given_twice(self):
        run = self.run_safelaunch(*AT_ONCE, *self.changed_for_rank_1("RANK=0"))
        # The second rank 0 may find the port taken, and end with 1, before or after it is seen to be the second.
        self.assertIn(run.status, (1, 124), str(run))
        self.assert_one_attempt(run, run.status, "duplicate-rank")
        self.assertRegex(run.err, r"[Tt]wo processes have rank 0: pid \d+ and pid \d+")

    def changed_for_rank_1(self, change):
        wrapper = self.script(f'#!/bin/sh\n[ "$RANK" = 1 ] && export {change}\nexec "$@"\n', "wrapper.sh")
        return ["--nproc-per-node", "2", "--", wrapper, sys.executable, DDP]

    def test_more_ranks_than_devices(self):
        script = self.script("import os\nif os.environ['RANK'] == '1':\n"
                             "    raise RuntimeError('CUDA error: invalid device ordinal')\n"
                             "import time; time.sleep(3600)\n")
        run = self.run_safelaunch("--nproc-per-node", "2", "--", sys.executable, script)
        self.assert_one_attempt(run, 1, "device-ordinal")

    def test_a_worker_for_each_gpu_where_there_is_none(self):
        run = self.run_safelaunch("--nproc-per-node", "gpu", "--", sys.executable, DDP,
                                  env=self.environment(CUDA_VISIBLE_DEVICES=""))
        self.assert_status(run, 64)
        self.assertIn("no GPU is visible here", run.err)

    def test_devices_are_those_that_the_user_left_visible(self):
        script = self.script("import os; print(os.environ['LOCAL_RANK'], os.environ['CUDA_VISIBLE_DEVICES'])")
        run = self.run_safelaunch("--nproc-per-node", "gpu", "--", sys.executable, script,
                                  env=self.environment(CUDA_VISIBLE_DEVICES="3,5"))
        self.assert_status(run, 0)
        self.assertEqual(sorted(run.out.split("\n")), ["", "0 3,5", "1 3,5"])


class MemoryCgroup:
    """A memory cgroup with a limit, of version 1 or 2; removed with its last process gone."""

    def __init__(self, limit):
        self.folder, limit_file = self.make()
        (self.folder / limit_file).write_text(str(limit))

    @staticmethod
    def make():
        parents = ((pathlib.Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes"),
                   (pathlib.Path("/sys/fs/cgroup"), "memory.max"))
        for parent, limit_file in parents:
            folder = parent / f"safelaunch-test-{os.getpid()}"
            try:
                folder.mkdir()
                if (folder / limit_file).exists():
                    return folder, limit_file
                folder.rmdir()
            except OSError:
                continue
        raise unittest.SkipTest("no memory cgroup can be made here")

    def enter(self):
        (self.folder / "cgroup.procs").write_text(str(os.getpid()))

    def remove(self):
        self.folder.rmdir()


class OutOfMemory(SafelaunchTest):
    """Scene j, the kernel's out-of-memory killer."""

    GREEDY = """
import os, time
if os.environ["RANK"] == "1":
    hoard = []
    while True:
        hoard.append(bytearray(b"x" * (1 << 20)))
time.sleep(3600)
"""

    def test_a_rank_that_the_kernel_kills_for_want_of_memory_is_told_so_by_the_cgroups_counter(self):
        cgroup = MemoryCgroup(128 * MEBIBYTE)
        self.addCleanup(cgroup.remove)
        run = self.run_safelaunch("--nproc-per-node", "2", "--", sys.executable, self.script(self.GREEDY),
                                  preexec_fn=cgroup.enter)
        self.assert_status(run, 137)
        (attempt,) = run.attempts
        self.assertEqual((attempt["cause"]["id"], attempt["cause"]["certainty"]), ("host-oom", "confirmed"), str(run))
        self.assertIn("Rank 1 failed first", run.err)


if __name__ == "__main__":
    main()
