"""A job whose own timeout comes before safelaunch's: the rank that the others waited for is named all the same."""

import importlib.util
import sys
import unittest

from harness import SafelaunchTest, free_port, main

# Rank 1 stays away at one place of three, and rank 0 gives up by the group's own timeout.
STAYS_AWAY = """
import datetime, os, time, torch, torch.distributed as dist
def stays_away(): time.sleep(600)
def comes_to(place):
    if os.environ["RANK"] == "1" and place == "{where}": stays_away()
comes_to("init")
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=5))
comes_to("first")
for step in range(30):
    if step == 20: comes_to("training")
    dist.all_reduce(torch.ones(4))
"""
FAILS_BEFORE = """
import datetime, os, torch, torch.distributed as dist
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=5))
for step in range(30):
    if os.environ["RANK"] == "1" and step == 20: os.kill(os.getpid(), 9)
    dist.all_reduce(torch.ones(4))
"""
STAYS_AWAY_FROM_JAX = """
import os, time, jax
def stays_away(): time.sleep(600)
rank = int(os.environ["RANK"])
if rank == 1: stays_away()
jax.distributed.initialize("127.0.0.1:" + os.environ["MASTER_PORT"], 2, rank, initialization_timeout=5)
"""
# All ranks give up: in different operations, or each in a message from the other.
MEET_NEVER = """
import datetime, sys, torch, torch.distributed as dist
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=5))
rank, ones = dist.get_rank(), torch.ones(4)
for step in range(30):
    dist.all_reduce(ones)
try:
    if sys.argv[1] == "messages":
        dist.recv(ones, src=1 - rank)
    elif rank == 0:
        dist.broadcast(ones, src=1)
    else:
        dist.reduce(ones, dst=1)
finally:  # the end of one breaks the connection of one that has not given up yet
    store = dist.distributed_c10d._get_default_store()
    store.set("gave up %d" % rank, "")
    store.wait(["gave up 0", "gave up 1"], datetime.timedelta(seconds=60))
"""
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node=2"]


class TimedOut(SafelaunchTest):
    def starts(self, name, script):
        return self.start("--only", *TORCHRUN, f"--master_port={free_port()}", self.script(script, name))

    def test_the_rank_that_the_others_waited_for_is_named_with_its_place(self):
        wheres = ("init", "first", "training")
        jobs = [self.starts(f"{where}.py", STAYS_AWAY.format(where=where)) for where in wheres]
        for where, job in zip(wheres, jobs):
            with self.subTest(where):
                run = self.finish(job)
                self.assert_status(run, 1)  # as without us
                (attempt,) = run.attempts
                cause = attempt["cause"]
                self.assertEqual(attempt["end"], "stalled in training" if where == "training" else "hung", str(run))
                self.assertEqual((cause["id"], cause["certainty"]),
                                 ("training-stalled" if where == "training" else "rank-missing", "confirmed"), str(run))
                self.assertRegex(cause["headline"], "^rank 1 ", str(run))
                self.assertRegex(cause["places"][0], rf"{where}\.py:3 in stays_away", str(run))
                self.assertIn("Rank 0 gave up by a timeout of its own", cause["explanation"], str(run))

    def test_ranks_that_all_gave_up_are_told_with_what_each_was_in(self):
        script = self.script(MEET_NEVER)
        jobs = [self.start("--only", *more, *TORCHRUN, f"--master_port={free_port()}", script, what)
                for what, more in (("operations", []), ("operations", ["--stall-timeout", "2s"]), ("messages", []))]
        runs = [self.finish(job) for job in jobs]
        for run in runs:
            self.assert_status(run, 1)
        causes = [run.attempts[0]["cause"] for run in runs]
        for run, cause in zip(runs[:2], causes):
            self.assertEqual((cause["id"], cause["certainty"]), ("ranks-disagree", "confirmed"), str(run))
            self.assertIn("Collective 31 of group 0 is broadcast on rank 0, but reduce on rank 1", cause["explanation"], str(run))
        self.assertNotIn("training goes on", runs[1].err)  # gloo counts what has failed among the completed
        self.assertEqual(causes[2]["id"], "gloo-timeout", str(runs[2]))
        self.assertRegex(causes[2]["explanation"], r"[Rr]anks 0 1 gave up, in job\.py:9 <module> → recv", str(runs[2]))

    @unittest.skipUnless(importlib.util.find_spec("jax"), "jax is not installed")
    def test_JAX_that_gives_its_start_up_names_the_process_that_never_came(self):
        run = self.run_safelaunch("--only", "--nproc-per-node", "2", "--", sys.executable, self.script(STAYS_AWAY_FROM_JAX))
        self.assert_status(run, 134)  # it aborts
        cause = run.attempts[0]["cause"]
        self.assertEqual((run.attempts[0]["end"], cause["id"], cause["certainty"]), ("hung", "rank-missing", "confirmed"), str(run))
        self.assertRegex(cause["places"][0], r"job\.py:3 in stays_away", str(run))

    def test_a_rank_that_died_is_told_as_before(self):
        run = self.finish(self.starts("killed.py", FAILS_BEFORE))
        self.assert_status(run, 137)
        self.assertEqual(run.attempts[0]["cause"]["id"], "rank-died", str(run))


if __name__ == "__main__":
    main()
