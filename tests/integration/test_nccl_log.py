"""What safelaunch reads of NCCL besides stages: your own settings, what is said on the screen, what is recorded, RAS.

Own-spawned workers in C++ over the doubles of tests/doubles, as in test_nccl_scenes.py.
"""

import sys
import unittest

from harness import SKIPPED
from test_nccl_scenes import DOUBLES, RIGHT, WORKER, NcclTest


class NcclLogTest(NcclTest):
    def logs(self, run, attempt="attempt-1-basic"):
        return sorted((run.directory / attempt).glob("nccl.*"))

    def record(self, run):
        return [event for event in run.events if event["e"] == "nccl"]


class WhereTheLogGoes(NcclLogTest):
    def test_into_the_attempt_and_off_the_screen(self):
        run = self.run_worker()
        self.assertEqual(len(self.logs(run)), 3, str(run))
        self.assertNotIn("NCCL INFO", run.out + run.err)

    def test_what_you_have_asked_for_stays_on_the_screen_and_is_read_there(self):
        run = self.run_worker(NCCL_DEBUG="INFO")
        self.assertEqual(self.logs(run), [])
        self.assertIn("NCCL INFO", run.out)
        self.assertIn("communicator", [event.get("stage") for event in run.events])

    def test_a_file_of_yours_is_read_where_it_is(self):
        mine = self.folder / "mine.%p"
        run = self.run_worker(NCCL_DEBUG="INFO", NCCL_DEBUG_FILE=str(mine))
        self.assertEqual(self.logs(run), [])
        self.assertEqual(len(list(self.folder.glob("mine.*"))), 3)
        self.assertEqual(self.record(run)[0]["version"], "2.29.7")


class WhatIsToldOfIt(NcclLogTest):
    def test_a_warning_is_said_once_however_many_ranks_write_it(self):
        run = self.run_worker(SAFELAUNCH_DOUBLE_FAULT="ib", options=["--only"])
        said = [line for line in run.err.splitlines() if line.startswith("safelaunch: rank ") and "ibv_create_cq" in line]
        self.assertEqual(len(said), 1, str(run))

    def test_version_interface_transport_and_variables_are_recorded(self):
        run = self.run_worker(options=["--profile", "no-p2p", "--set", "NCCL_SOCKET_IFNAME=lo"])
        record = self.record(run)[0]
        self.assertEqual(record["version"], "2.29.7")
        self.assertEqual(record["interface"], ["lo"])
        self.assertEqual(record["transport"], ["SHM"])
        self.assertLessEqual({"NCCL_P2P_DISABLE=1", "NCCL_SOCKET_IFNAME=lo"}, set(record["read"]))
        self.assertEqual(record["unread"], [])

    def test_a_variable_that_is_not_read_is_recorded(self):
        run = self.run_worker(options=["--set", "NCCL_IB_TIMEOUT=22"])
        self.assertEqual(self.record(run)[0]["unread"], ["NCCL_IB_TIMEOUT"])


class AskingRas(NcclLogTest):
    """One rank makes its communicator and then does nothing more: the others hang in their first collective."""

    def run_hanging(self, profile, **environment):
        run = self.run_worker("--idle-rank", "1", NCCL_RUNTIME_CONNECT="0", **environment,
                              options=["--profile", profile, "--only", "--collective-timeout", "3s", "--quiet-timeout", "2s"])
        self.assert_status(run, 124)
        return run

    def asking(self):
        profile = self.folder / "asking.yaml"
        profile.write_text("name: asking\nextends: basic\nras: ask\n")
        return profile

    def test_its_answer_stands_in_the_report(self):
        for version in "2.28.9", "2.29.7", "2.30.7":
            with self.subTest(version):
                run = self.run_hanging(self.asking(), SAFELAUNCH_DOUBLE_NCCL=version)
                self.assertIn("NCCL's RAS: rank 1 launched 0 of 1 AllReduce.", run.attempts[0]["cause"]["explanation"], str(run))
                self.assertIn("MISMATCH", (run.directory / "attempt-1-asking/evidence/ras.txt").read_text())

    def test_it_is_not_asked_unless_a_profile_wants_it(self):
        run = self.run_hanging("basic")
        self.assertNotIn("ras", [event["e"] for event in run.events], str(run))


if __name__ == "__main__":
    if not (DOUBLES and WORKER):
        print("skipped: SAFELAUNCH_DOUBLES and SAFELAUNCH_WORKER do not say where the doubles are")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
