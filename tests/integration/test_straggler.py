"""The slow rank: who comes last to most collectives is told to whoever looks, and to nobody else."""

import json
import sys

from harness import SafelaunchTest, main, wait_until

# Each step one rank comes later than the others, from a function of its own; until a file is there.
TRAINS = """
import os, sys, time, torch, torch.distributed as dist
def loads(): time.sleep(0.05)
dist.init_process_group("gloo")
rank, step, ends = dist.get_rank(), 0, torch.zeros(1)
while not ends.item():
    if rank == ({late}): loads()
    ends[0] = rank == 0 and os.path.exists("end")
    dist.all_reduce(ends)
    step += 1
"""


class Straggler(SafelaunchTest):
    def train(self, late):
        return self.start("--stall-timeout", "4s", "--nproc-per-node", "2", "--", sys.executable,
                          self.script(TRAINS.format(late=late)))

    def end(self, job):
        (self.folder / "end").touch()
        run = self.finish(job)
        self.assert_status(run, 0)
        self.assertEqual(run.err, "")
        return run

    def test_a_rank_that_comes_last_is_named_with_its_place_by_status_and_report(self):
        job = self.train("1")
        events = job.run_directory / "events.jsonl"
        wait_until(lambda: events.exists() and '"straggler"' in events.read_text(), what="the slow rank")
        told = r"rank 1 came last to \d+ of \d+ collectives, \d+ ms after the others, which waited \d+ % of the time for it"
        self.assertRegex(self.verb("status"), told)
        (status,) = json.loads(self.verb("status", "--json"))
        self.assertEqual(status["straggler"]["rank"], 1)
        self.assertRegex(status["straggler"]["where"], r"job.py:\d+ loads")
        run = self.end(job)
        self.assertRegex(self.verb("report", run.directory), told)

    def test_nobody_is_named_where_the_ranks_come_late_in_turn(self):
        job = self.train("step // 4 % 2")
        events = job.run_directory / "events.jsonl"
        # The rate is that between two answers of the ranks.
        wait_until(lambda: events.exists() and "collectives a second" in self.verb("status"), what="two rounds of questions")
        self.assertNotIn("straggler", self.end(job).directory.joinpath("events.jsonl").read_text())


if __name__ == "__main__":
    main()
