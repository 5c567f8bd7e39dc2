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
