"""Jobs that hang in their first collective since the ranks do different things: torch's flight recorder shows who."""

from harness import SafelaunchTest, forked, main, torchrun

SHORT = ["--only", "--init-timeout", "4s", "--collective-timeout", "4s", "--quiet-timeout", "2s"]

BEGIN = """
import sys
import time

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
RANK = dist.get_rank()
pair = dist.new_group([0, 1])
ones = torch.ones(4)


def evaluates():
    time.sleep(600)

"""

OTHER_OPERATION = BEGIN + """
dist.broadcast(ones, 2) if RANK == 1 else dist.all_reduce(ones)
time.sleep(600)
"""

OTHER_GROUP = BEGIN + """
dist.all_reduce(ones, group=pair if RANK == 1 else None)
"""

THROUGH_ITS_FIRST_AND_AWAY = BEGIN + """
if RANK < 2:
    dist.all_reduce(ones, group=pair)
if RANK == 1:
    evaluates()
dist.all_reduce(ones)
"""

GROUPS_OF_THEIR_OWN = BEGIN + """
if RANK < 2:
    dist.all_reduce(ones, group=pair)
else:
    time.sleep(3)
dist.broadcast(ones, 2)
dist.destroy_process_group()
"""

ALL_RECEIVE = BEGIN + """
dist.recv(ones, (RANK - 1) % 3)
dist.send(ones, (RANK + 1) % 3)
"""

NOBODY_RECEIVES = BEGIN + """
if RANK == 0:
    dist.send(torch.ones(1000), 1)
evaluates()
"""

ANOTHER_SOURCE = BEGIN + """
dist.broadcast(ones, 1 if RANK == 0 else 0)
time.sleep(600)
"""

GROUP_AND_COLLECTIVE = BEGIN + """
dist.new_group([0, 1, 2]) if RANK == 1 else dist.barrier()
"""

GROUPS_DIFFER = BEGIN + """
dist.new_group([0, 2] if RANK != 1 else [0, 1, 2])
time.sleep(600)
"""

NEVER_COMES = """
import os
import time

import torch.distributed as dist

if os.environ["RANK"] == "1":
    time.sleep(600)
dist.init_process_group("gloo")
"""


class WhatTheFlightRecorderShows(SafelaunchTest):
    def run_job(self, script, options=SHORT):
        return self.run_safelaunch(*options, "--", *forked(self.script(script), ranks=3))

    def run_under_torchrun(self, script):
        return self.run_safelaunch(*SHORT, *torchrun("--nproc-per-node", "3", self.script(script)))

    def assert_cause(self, run, cause, certainty="confirmed"):
        self.assert_status(run, 124)
        (attempt,) = run.attempts
        self.assertEqual((attempt["cause"]["id"], attempt["cause"]["certainty"]), (cause, certainty), str(run))
        return attempt["cause"]["explanation"]

    def collectives(self, run):
        (event,) = [event for event in run.events if event["e"] == "collectives"]
        return event

    def test_a_rank_that_calls_another_operation_is_named_and_each_ranks_collectives_are_kept(self):
        run = self.run_under_torchrun(OTHER_OPERATION)
        explanation = self.assert_cause(run, "ranks-disagree")
        self.assertIn("ollective 1 of group 0 is all_reduce on ranks 0 2, but broadcast on rank 1", explanation)
        # A broadcast may take what the all_reduce of another rank has sent, and end.
        self.assertRegex(explanation, r"^Ranks (0 and 2|0-2) waited to join the first collective; nobody was missing")
        kept = next(run.directory.glob("attempt-1-*/evidence/collectives")).read_text().splitlines()
        self.assertEqual(kept, self.collectives(run)["ranks"])
        self.assertIn("group 0: enqueued 1, started -1, completed -1; "
                      "all_reduce, collective 1 of group 0: enqueued", kept[0])
        self.assertIn("broadcast, collective 1 of group 0", kept[1])

    def test_ranks_that_all_receive_first_wait_in_a_circle(self):
        explanation = self.assert_cause(self.run_job(ALL_RECEIVE), "messages-in-a-circle")
        self.assertIn("ank 0 waits in recv from rank 2", explanation)
        self.assertRegex(explanation, r"anks 0-2 in job\.py:\d+ <module> → recv")

    def test_of_a_message_that_nobody_receives_both_ends_are_named(self):
        explanation = self.assert_cause(self.run_job(NOBODY_RECEIVES), "rank-missing")
        self.assertRegex(explanation, r"ank 1 was .* in .*evaluates")
        self.assertRegex(explanation, r"ank 1 never received from rank 0")
        self.assertRegex(explanation, r"ank 0 in .*py:\d+ <module> → send")

    def test_ranks_that_think_of_different_sources_disagree(self):
        explanation = self.assert_cause(self.run_job(ANOTHER_SOURCE), "ranks-disagree")
        self.assertIn("broadcast from rank 1 on rank 0", explanation)

    def test_a_rank_that_makes_a_group_while_others_are_in_a_collective_disagrees(self):
        explanation = self.assert_cause(self.run_job(GROUP_AND_COLLECTIVE), "ranks-disagree")
        self.assertIn("ank 1 waits in new_group", explanation)
        self.assertRegex(explanation, r"anks 0 2 in .* → barrier")

    def test_a_group_with_other_members_on_other_ranks_is_named(self):
        explanation = self.assert_cause(self.run_job(GROUPS_DIFFER), "ranks-disagree")
        self.assertNotIn("never called", explanation)
        self.assertIn("roup 2 is ranks 0 2 on ranks 0 2, but ranks 0-2 on rank 1", explanation)

    def test_ranks_that_wait_in_different_groups_are_named(self):
        run = self.run_job(OTHER_GROUP)
        explanation = self.assert_cause(run, "ranks-disagree")
        self.assertIn("anks 0 2 wait in all_reduce, collective 1 of group 0, for rank 1", explanation)
        self.assertIn("rank 1 waits in all_reduce, collective 1 of group 1, for rank 0", explanation)

    def test_a_rank_that_is_through_its_own_first_collective_and_stays_away_is_named(self):
        run = self.run_job(THROUGH_ITS_FIRST_AND_AWAY)
        explanation = self.assert_cause(run, "rank-missing")
        self.assertRegex(explanation, r"^Rank 1 was missing; ranks 0 and 2 waited .* It was in .*evaluates")
        self.assertIn("Rank 1 never called all_reduce, collective 1 of group 0", explanation)

    def test_ranks_that_begin_in_groups_of_their_own_are_left_alone(self):
        run = self.run_job(GROUPS_OF_THEIR_OWN, ["--collective-timeout", "60s"])
        self.assert_status(run, 0)
        self.assertEqual([event["e"] for event in run.events if event["e"] in ("verdict", "collectives")], [])

    def test_waits_in_the_store_for_a_rank_that_never_came_are_told(self):
        run = self.run_under_torchrun(NEVER_COMES)
        explanation = self.assert_cause(run, "rank-missing")
        self.assertRegex(self.collectives(run)["store"], r"ranks? .* in the store \(TCPStore__", str(run))
        self.assertNotIn("store", explanation)  # each fact once: they wait for the rank that is missing


if __name__ == "__main__":
    main()
