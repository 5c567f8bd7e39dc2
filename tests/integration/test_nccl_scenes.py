"""Jobs that fail or hang in NCCL, without a GPU: own-spawned workers in C++ over the doubles of tests/doubles.

The cause is named from NCCL's own lines, the profile that heals it is taken, and what no profile can heal is not tried
again. SAFELAUNCH_DOUBLES names the folder with the three libraries, SAFELAUNCH_WORKER the worker.
"""

import ctypes
import os
import sys
import unittest

from harness import SKIPPED, SafelaunchTest

DOUBLES = os.environ.get("SAFELAUNCH_DOUBLES", "")
WORKER = os.environ.get("SAFELAUNCH_WORKER", "")
RIGHT = "3 all_reduces of 1024 floats are right"
VERSIONS = ["2.21.5", "2.24.3", "2.27.7", "2.28.9", "2.29.7", "2.30.7"]
MIB = 1 << 20
OWN_MOUNTS = False  # set where it is allowed


def own_mounts():
    """Gives this process, and all it starts, a mount namespace of its own. False where that is not allowed."""
    new_mounts, private, recursive = 0x20000, 1 << 18, 1 << 14
    libc = ctypes.CDLL(None)
    return libc.unshare(new_mounts) == 0 and libc.mount(b"none", b"/", None, private | recursive, None) == 0


class NcclTest(SafelaunchTest):
    """Three ranks of nccl_worker, started by safelaunch itself."""

    def run_worker(self, *words, ranks=3, options=(), but=None, **environment):
        """`but` is a line of shell that changes a rank's own variables before it becomes a worker."""
        worker = ["sh", "-c", f'{but}; exec "$@"', "sh", WORKER] if but else [WORKER]
        double = {"LD_LIBRARY_PATH": DOUBLES, "SAFELAUNCH_DOUBLE_GPUS": str(ranks), **environment}
        # The profile that heals the cause is tried, and not the one that is fastest on a busy machine.
        return self.run_safelaunch("--probe", "never", *options, "--nproc-per-node", ranks, "--", *worker, *words, env=self.environment(**double))

    def small_shared_memory(self, size=MIB):
        libc = ctypes.CDLL(None)
        if not OWN_MOUNTS or libc.mount(b"tmpfs", b"/dev/shm", b"tmpfs", 0, f"size={size}".encode()) != 0:
            self.skipTest("no /dev/shm of its own")
        self.addCleanup(libc.umount2, b"/dev/shm", 2)

    def assert_cause(self, run, cause, attempt=0):
        self.assertEqual((run.attempts[attempt]["cause"] or {}).get("id"), cause, str(run))

    def assert_healed(self, run, cause, profile):
        """Failed once, for this cause, and then worked with this profile."""
        self.assert_status(run, 0)
        self.assert_cause(run, cause)
        self.assertEqual([one["profile"] for one in run.attempts], ["basic", profile], str(run))
        self.assertEqual(run.out.count(RIGHT), 3, str(run))

    def assert_given_up_at_once(self, run, cause):
        self.assertNotEqual(run.status, 0, str(run))
        self.assert_cause(run, cause)
        self.assertEqual(len(run.attempts), 1, str(run))


class AHealthyJob(NcclTest):
    def test_it_runs_as_if_alone(self):
        for version in VERSIONS:
            with self.subTest(version):
                run = self.run_worker(SAFELAUNCH_DOUBLE_NCCL=version)
                self.assert_status(run, 0)
                self.assertEqual(run.out.count(RIGHT), 3, str(run))
                self.assertEqual(run.err, "")


class WhatAProfileHeals(NcclTest):
    """The mission's own scene, in its variants."""

    def test_a_small_shared_memory_is_healed_by_cumem_host(self):
        self.small_shared_memory()
        for version in VERSIONS[1:]:
            with self.subTest(version):
                run = self.run_worker(SAFELAUNCH_DOUBLE_FAULT="shm-small", SAFELAUNCH_DOUBLE_NCCL=version)
                self.assert_healed(run, "shm-small", "cumem-host")
                self.assertIn("Error while creating shared memory segment /dev/shm/nccl-", run.err)

    def test_a_wrong_interface_is_healed_by_loopback(self):
        for version in VERSIONS:
            with self.subTest(version):
                run = self.run_worker(NCCL_SOCKET_IFNAME="nope", SAFELAUNCH_DOUBLE_NCCL=version)
                self.assert_healed(run, "ifname-missing", "loopback")

    def test_infiniband_without_memory_is_healed_by_sockets(self):
        run = self.run_worker(SAFELAUNCH_DOUBLE_FAULT="ib")
        self.assert_healed(run, "ib-memlock", "no-ib")

    def test_nvlink_sharp_is_healed_by_doing_without(self):
        run = self.run_worker(SAFELAUNCH_DOUBLE_FAULT="nvls")
        self.assert_healed(run, "nvls-bind", "no-nvls")

    def test_direct_copies_that_hang_are_healed_by_no_p2p(self):
        run = self.run_worker(SAFELAUNCH_DOUBLE_FAULT="p2p-hang", options=["--collective-timeout", "4s", "--quiet-timeout", "2s"])
        self.assert_healed(run, "gpu-p2p", "no-p2p")
        self.assertEqual(run.attempts[0]["end"], "hung", str(run))


class WhatTheUserSet(NcclTest):
    """NCCL's log stays where the user wants it, and is read there."""

    def run_ib(self, **environment):
        run = self.run_worker(SAFELAUNCH_DOUBLE_FAULT="ib", **environment)
        self.assert_healed(run, "ib-memlock", "no-ib")
        return run

    def test_warnings_on_the_terminal_stay_there(self):
        self.assertIn("NCCL WARN Call to ibv_create_cq failed", self.run_ib(NCCL_DEBUG="WARN").out)

    def test_a_log_in_the_users_own_file_is_read_there(self):
        self.run_ib(NCCL_DEBUG="INFO", NCCL_DEBUG_FILE=str(self.folder / "mine.%p"))
        logs = [path.read_text() for path in self.folder.glob("mine.*")]
        # The first rank's failure may end the others before they have written theirs.
        self.assertTrue(any("NCCL WARN Call to ibv_create_cq failed" in log for log in logs), logs)


class WhatNoProfileHeals(NcclTest):
    """One attempt, the cause, and the end."""

    def test_a_rank_that_never_comes_is_named(self):
        for version in VERSIONS:
            with self.subTest(version):
                run = self.run_worker("--absent-rank", "1", options=["--init-timeout", "4s", "--quiet-timeout", "2s"],
                                      SAFELAUNCH_DOUBLE_NCCL=version)
                self.assert_status(run, 124)
                self.assert_given_up_at_once(run, "rank-missing")
                self.assertRegex(run.attempts[0]["cause"]["explanation"], r"Rank 1 was missing", str(run))

    def test_a_doubled_rank_ends_the_attempt_at_once(self):
        run = self.run_worker(but="test $RANK -eq 2 && export RANK=1")
        self.assert_given_up_at_once(run, "duplicate-rank")

    def test_another_number_of_ranks_ends_the_attempt_at_once(self):
        run = self.run_worker(but="test $RANK -eq 1 && export WORLD_SIZE=4")
        self.assert_given_up_at_once(run, "world-size-mismatch")

    def test_a_rank_that_dies_ends_the_job_with_its_status(self):
        run = self.run_worker(but="test $RANK -eq 1 && exit 3")
        self.assert_status(run, 3)
        self.assert_given_up_at_once(run, "rank-died")

    def test_a_crash_inside_nccl_is_named_in_every_attempt(self):
        run = self.run_worker(SAFELAUNCH_DOUBLE_FAULT="crash-in-init")
        self.assert_status(run, 139)
        self.assertEqual({attempt["cause"]["id"] for attempt in run.attempts}, {"nccl-crash"}, str(run))

    def test_one_gpu_for_two_ranks(self):
        run = self.run_worker(SAFELAUNCH_DOUBLE_FAULT="duplicate-gpu")
        self.assert_given_up_at_once(run, "duplicate-gpu")

    def test_memory_that_is_full(self):
        run = self.run_worker(SAFELAUNCH_DOUBLE_FAULT="oom")
        self.assert_given_up_at_once(run, "gpu-oom-in-nccl")

    def test_two_versions_in_one_job(self):
        run = self.run_worker(SAFELAUNCH_DOUBLE_FAULT="mismatch")
        self.assert_given_up_at_once(run, "nccl-mismatch")


if __name__ == "__main__":
    if not (DOUBLES and WORKER):
        print("skipped: SAFELAUNCH_DOUBLES and SAFELAUNCH_WORKER do not say where the doubles are")
        sys.exit(SKIPPED)
    OWN_MOUNTS = own_mounts()
    unittest.main(verbosity=2)
