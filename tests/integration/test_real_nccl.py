"""Jobs over a real NCCL, without a GPU: libraries that the tester names (SAFELAUNCH_TEST_NCCL), over doubles of CUDA and NVML.

Kernels do nothing there, so data are not reduced: what is looked at ends with the launch of the first collective. Which table of
the plugin each release loads is tried in tests/unit/plugin. SAFELAUNCH_DOUBLES and SAFELAUNCH_WORKER are as in test_nccl_scenes.py.
"""

import json
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "doubles"))
import test_nccl_scenes  # noqa: E402
from harness import SAFELAUNCH, SKIPPED  # noqa: E402
from real_nccl import real_nccls, why_not  # noqa: E402
from test_nccl_scenes import DOUBLES, NcclTest, own_mounts  # noqa: E402

DONE = "3 all_reduces of 1024 floats are done"


class RealNcclTest(NcclTest):
    def each(self, work, since=(2, 0)):
        """Does the work with every library, each in a subtest, from one release on."""
        for library in real_nccls(self.folder, DOUBLES, since):
            with self.subTest(library.name):
                work(library)

    def run_over(self, library, *words, **more):
        return self.run_worker("--any-sum", *words, **{**library.environment, **more})

    def logs(self, run, attempt="attempt-1-basic"):
        return [path.read_text() for path in sorted((run.directory / attempt).glob("nccl.*"))]

    def assert_done(self, run):
        self.assert_status(run, 0)
        self.assertEqual(run.out.count(DONE), 3, str(run))


class AHealthyJob(RealNcclTest):
    def test_the_stages_of_every_rank_are_read_and_nothing_is_said(self):
        def check(library):
            run = self.run_over(library)
            self.assert_done(run)
            self.assertEqual(run.err, "")
            stages = {(event["rank"], event["stage"]) for event in run.events if event["e"] == "stage"}
            self.assertLessEqual({(rank, "communicator") for rank in range(3)}, stages, str(run))
            self.assertEqual(len(self.logs(run)), 3)

        self.each(check)

    def test_version_interface_network_transport_and_variables_are_read(self):
        def check(library):
            run = self.run_over(library, NCCL_SOCKET_IFNAME="lo", options=["--set", "NCCL_P2P_DISABLE=1"])
            self.assert_done(run)
            record = next(event for event in run.events if event["e"] == "nccl")
            self.assertEqual((record["version"], record["interface"], record["network"], record["transport"]),
                             (library.name, ["lo"], ["Socket"], ["SHM"]), record)
            self.assertIn("NCCL_SOCKET_IFNAME=lo", record["read"])
            self.assertEqual(record["unread"], [])

        self.each(check)

    def test_ranks_with_hosts_of_their_own_meet_over_the_network(self):
        def check(library):
            run = self.run_over(library, "--steps", "0", but="export NCCL_HOSTID=host$RANK", NCCL_RUNTIME_CONNECT="0")
            self.assert_status(run, 0)
            record = next(event for event in run.events if event["e"] == "nccl")
            self.assertEqual(record["transport"], ["NET/Socket"])

        self.each(check, since=(2, 24))


class ThePlugin(RealNcclTest):
    """NCCL loads it, and what it tells becomes stages."""

    def test_the_first_collective_is_seen_to_its_end(self):
        def check(library):
            run = self.run_over(library)
            stages = {(event["rank"], event["stage"]) for event in run.events if event["e"] == "stage"}
            self.assertLessEqual({(rank, "collective") for rank in range(3)}, stages, str(run))
            self.assertIn("training", [event["e"] for event in run.events])

        self.each(check, since=(2, 28))

    def test_a_kernel_that_never_ends_is_a_hang_in_the_first_collective(self):
        def check(library):
            run = self.run_over(library, SAFELAUNCH_DOUBLE_CUDA="stuck",
                                options=["--only", "--collective-timeout", "3s", "--quiet-timeout", "2s"])
            self.assert_status(run, 124)
            self.assert_cause(run, "collective-stuck")
            self.assertIn("waited to join the first collective; nobody was missing", run.attempts[0]["cause"]["explanation"])

        self.each(check, since=(2, 28))


class WhatFails(RealNcclTest):
    def test_a_rank_that_never_comes_is_named(self):
        def check(library):
            run = self.run_over(library, "--absent-rank", "1", options=["--init-timeout", "3s", "--quiet-timeout", "2s"])
            self.assert_status(run, 124)
            self.assert_given_up_at_once(run, "rank-missing")
            self.assertRegex(run.attempts[0]["cause"]["explanation"], "Rank 1 was missing", str(run))

        self.each(check)

    def test_a_doubled_rank_ends_the_attempt_at_once(self):
        def check(library):
            run = self.run_over(library, but="test $RANK -eq 2 && export RANK=1")
            self.assert_given_up_at_once(run, "duplicate-rank")

        self.each(check)

    def test_one_gpu_for_two_ranks(self):
        def check(library):
            run = self.run_over(library, but="export LOCAL_RANK=0")
            self.assert_given_up_at_once(run, "duplicate-gpu")

        self.each(check)

    def test_an_interface_that_does_not_exist_is_healed_by_loopback(self):
        def check(library):
            run = self.run_over(library, NCCL_SOCKET_IFNAME="nope")
            self.assert_cause(run, "ifname-missing")
            self.assertEqual([one["profile"] for one in run.attempts], ["basic", "loopback"], str(run))
            self.assert_done(run)

        self.each(check)

    def test_a_small_shared_memory_is_healed_by_cumem_host(self):
        self.small_shared_memory()
        def check(library):
            run = self.run_over(library, options=["--profile", "conservative,cumem-host"], NCCL_P2P_DISABLE="1")
            self.assert_cause(run, "shm-small")
            self.assertEqual([one["profile"] for one in run.attempts], ["conservative", "cumem-host"], str(run))
            self.assert_done(run)

        self.each(check, since=(2, 24))


class AskingRas(RealNcclTest):
    """Rank 1 makes its communicator and does nothing more; the others' first kernel waits for it."""

    def test_its_answer_stands_in_the_report(self):
        profile = self.folder / "asking.yaml"
        profile.write_text("name: asking\nextends: basic\nras: ask\n")
        def check(library):
            run = self.run_over(library, "--idle-rank", "1", SAFELAUNCH_DOUBLE_CUDA="stuck", NCCL_RUNTIME_CONNECT="0",
                                options=["--profile", profile, "--only", "--collective-timeout", "3s", "--quiet-timeout", "2s"])
            self.assert_status(run, 124)
            self.assertIn("NCCL's RAS: rank 1 launched 0 of 1 AllReduce.", run.attempts[0]["cause"]["explanation"], str(run))
            answer = (run.directory / "attempt-1-asking/evidence/ras.txt").read_text()
            self.assertIn(f"NCCL version {library.name} ", answer)

        self.each(check, since=(2, 28))


class TheProbe(RealNcclTest):
    def test_it_comes_through_init_and_finds_that_kernels_do_nothing(self):
        def check(library):
            result = subprocess.run([SAFELAUNCH, "probe", "--json", "--nccl", library.file, "--profile", "basic"], text=True,
                                    capture_output=True, timeout=120, env=self.environment(**library.environment))
            report = json.loads(result.stdout)
            self.assertEqual((report["nccl"]["version"], report["ranks"]), (library.name, 2))
            row = report["profiles"][0]
            self.assertEqual((row["verdict"], row["phase"]), ("failed", "checked"), row)
            self.assertRegex(row["why"], r"all_reduce gave \d, and the sum is 3")

        self.each(check)


if __name__ == "__main__":
    if why := why_not(DOUBLES):
        print("skipped:", why)
        sys.exit(SKIPPED)
    test_nccl_scenes.OWN_MOUNTS = own_mounts()
    unittest.main(verbosity=2)
