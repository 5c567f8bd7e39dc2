"""Scene k: what hangs after its first collective is never started again."""

import json
import signal
import subprocess
import sys

from harness import DDP, SAFELAUNCH, SafelaunchTest, forked, main, wait_until

LATE = ["--", sys.executable, DDP, "--steps", "5", "--hang", "late", "--bad-rank", "1"]
SHORT = ["--init-timeout", "4s", "--collective-timeout", "4s", "--quiet-timeout", "2s", "--grace", "5s"]
# Rank 0 waits in a collective that rank 1 never calls, and a thread of rank 0 says that all is well.
HEARTBEAT = """
import queue, threading, time, torch, torch.distributed as dist
def beat():
    while True:
        print("alive", flush=True)
        time.sleep(0.2)
dist.init_process_group("gloo")
dist.all_reduce(torch.ones(1))
if dist.get_rank() == 0: threading.Thread(target=beat, daemon=True).start()
else: queue.Queue().get()
dist.all_reduce(torch.ones(1))
"""
# Rank 1 comes to the second collective once a file is there.
WAITS_FOR_A_FILE = """
import os, time, torch, torch.distributed as dist
dist.init_process_group("gloo")
for i in range(3):
    dist.all_reduce(torch.ones(1))
while dist.get_rank() == 1 and not os.path.exists("go"): time.sleep(0.2)
dist.all_reduce(torch.ones(1))
while not os.path.exists("end"): time.sleep(0.2)
"""
# Rank 1 does not come to the second world.
MEETS_AGAIN = """
import threading, torch, torch.distributed as dist
def never_comes(): threading.Event().wait()
dist.init_process_group("gloo")
for i in range(10): dist.all_reduce(torch.ones(1))
rank = dist.get_rank()
dist.destroy_process_group()
if rank == 1: never_comes()
dist.init_process_group("gloo")
"""
# The last rank of the second, larger world does not come; nobody knows its process.
MEETS_IN_A_LARGER_WORLD = """
import os, threading, torch, torch.distributed as dist, torch.multiprocessing as mp
def train(rank, world, hangs):
    if hangs and rank == world - 1: threading.Event().wait()
    dist.init_process_group("gloo", init_method=f"file://{os.getcwd()}/meet-{world}", rank=rank, world_size=world)
    for i in range(3): dist.all_reduce(torch.ones(1))
    dist.barrier()
    dist.destroy_process_group()
if __name__ == "__main__":
    for world in (2, 3): mp.spawn(train, args=(world, world == 3), nprocs=world)
"""
# A server that does not look after its workers, which are killed.
LOSES_ITS_WORKERS = """
import os, signal, threading, torch, torch.distributed as dist
def serve(rank):
    dist.init_process_group("gloo", init_method=f"file://{os.getcwd()}/meet", rank=rank, world_size=2)
    for i in range(5000): dist.all_reduce(torch.ones(1))  # a thread of the hook tells of the first, and needs some time
    os.kill(os.getpid(), signal.SIGKILL)
for rank in (0, 1):
    if os.fork() == 0: serve(rank)
threading.Event().wait()
"""
# Both ranks work for long between two collectives.
WORKS = """
import sys, time, torch, torch.distributed as dist
dist.init_process_group("gloo")
for step in range(2):
    dist.all_reduce(torch.ones(1))
    end = time.monotonic() + 20 * (1 - step)
    while time.monotonic() < end: sum(range(10000))
sys.stdout.write("trained\\n")
"""


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
        self.assertRegex(run.err, r"no collective finished for [\d.]+s; rank 1 is behind")
        self.assertRegex(run.err, r"rank 1 never called \w+, collective \d+ of group 0; rank 1 is in train.py:\d+ never_reaches_init")

    def test_a_thread_that_says_that_all_is_well_hides_no_standstill(self):
        job = self.start(*SHORT, "--stall-timeout", "5s", "--", *forked(self.script(HEARTBEAT)))
        events = job.run_directory / "events.jsonl"
        wait_until(lambda: events.exists() and "is behind" in events.read_text(), what="the report of the standstill")
        job.send_signal(signal.SIGTERM)
        self.assertRegex(self.finish(job).err, r"no collective finished for [\d.]+s; rank 1 is behind")

    def told(self, *words, of):
        """All that was said, once this was told of a standstill."""
        job = self.start(*SHORT, "--stall-timeout", "5s", *words)
        events = job.run_directory / "events.jsonl"
        # On a busy machine a rank may answer too late to be named in the first of them.
        wait_until(lambda: events.exists() and of in events.read_text(), what="the report of the standstill")
        job.send_signal(signal.SIGTERM)
        err = self.finish(job).err
        self.assertIn(of, err)
        return err

    def test_a_rank_that_does_not_come_to_a_second_world_is_named(self):
        told = self.told("--", *forked(self.script(MEETS_AGAIN)), of="rank 0 waits for rank 1 to make a group")
        self.assertIn("job.py:3 never_comes", told)

    def test_a_rank_that_nobody_has_seen_in_a_larger_world_is_named(self):
        self.told(sys.executable, self.script(MEETS_IN_A_LARGER_WORLD), of="ranks 0 1 wait for rank 2 to make a group")

    def test_a_server_whose_workers_are_all_dead_is_told(self):
        self.told(sys.executable, self.script(LOSES_ITS_WORKERS), of="ranks 0 1 have ended, and the command goes on")

    def test_the_end_of_a_standstill_is_told_too(self):
        job = self.start(*SHORT, "--stall-timeout", "4s", "--", *forked(self.script(WAITS_FOR_A_FILE)))
        events = job.run_directory / "events.jsonl"
        wait_until(lambda: events.exists() and "is behind" in events.read_text(), what="the report of the standstill")
        (self.folder / "go").touch()
        wait_until(lambda: '"over"' in events.read_text(), what="the end of the standstill")
        (self.folder / "end").touch()
        run = self.finish(job)
        self.assert_status(run, 0)
        self.assertRegex(run.err, r"training goes on, after \d+")
        self.assertRegex(self.verb("report", run.directory), r"training stood still after .*is behind.*; it went on after \d+")

    def test_to_end_a_standstill_needs_a_time(self):
        profile = self.folder / "ends-stalls.yaml"
        profile.write_text("name: ends-stalls\nextends: basic\non_stall: kill\n")
        run = self.run_safelaunch("--profile", profile, "true")
        self.assert_status(run, 64)
        self.assertIn("say after how long: timeouts: {stall: 10min}, or --stall-timeout", run.err)
        self.assert_status(self.run_safelaunch("--stall-timeout", "1h", "--profile", profile, "true"), 0)

    def test_ranks_that_work_between_two_collectives_do_not_stand_still(self):
        profile = self.folder / "ends-stalls.yaml"
        profile.write_text("name: ends-stalls\nextends: basic\ntimeouts: {stall: 4s}\non_stall: kill\n")
        run = self.run_safelaunch(*SHORT, "--profile", profile, "--", *forked(self.script(WORKS)))
        self.assert_status(run, 0)
        self.assertEqual(run.out.count("trained"), 2, str(run))
        self.assertNotIn("finished for", run.err)

    def test_a_standstill_that_is_to_be_ended_names_the_rank_its_collective_and_its_function(self):
        profile = self.folder / "ends-stalls.yaml"
        # Long enough for DDP's own imports after the first collective, also on a busy machine.
        profile.write_text("name: ends-stalls\nextends: basic\ntimeouts: {stall: 15s}\non_stall: kill\n")
        run = self.run_safelaunch(*SHORT, "--profile", profile, "--nproc-per-node", "2", *LATE)
        self.assert_status(run, 124)
        (attempt,) = run.attempts
        self.assertEqual((attempt["end"], attempt["cause"]["id"]), ("stalled in training", "training-stalled"), str(run))
        self.assertRegex(attempt["cause"]["explanation"], r"It was (idling )?in train.py:\d+ never_reaches_init", str(run))
        self.assertRegex(attempt["cause"]["explanation"], r"Rank 1 never called \w+, collective \d+ of group 0", str(run))
        self.assertNotIn("ended before", run.err)
        (place,) = attempt["cause"]["places"]
        self.assertRegex(place, r"^train.py:\d+ in never_reaches_init:  time.sleep\(")
        self.assertRegex(run.err, r"stalled in training: rank 1 is behind\n  --> train.py:\d+ in never_reaches_init:  time")
        page = (run.directory / "report.html").read_text()
        self.assertRegex(page, r"<title>Stalled in training: rank 1 is behind · train.py:\d+ · ")
        self.assertIn(f'<pre class="place">{place}</pre>', page)
        report = self.verb("report", run.directory)
        self.assertNotIn("failed first", report)
        self.assertIn("never_reaches_init", report)

    def test_a_signal_that_was_passed_on_is_nobodys_failure_in_the_report(self):
        job = self.start(*SHORT, "--nproc-per-node", "2", *LATE)
        events = job.run_directory / "events.jsonl"
        wait_until(lambda: events.exists() and '"training"' in events.read_text(), what="the first collective")
        job.send_signal(signal.SIGTERM)
        run = self.finish(job)
        report = self.verb("report", run.directory)
        self.assertNotIn("failed first", report)
        self.assertIn("told to end", report)

    def test_a_job_whose_ranks_nobody_sees_is_not_started_again(self):
        """A script that trains without torch may have worked for hours when NCCL's words come."""
        lost = ("import os, sys; print('trained', flush=True); "
                "print('NCCL error: remote process exited or there was a network error', file=sys.stderr, flush=True); "
                "os._exit(1)")
        for words in (["sh", "-c", f'exec {sys.executable} -c "$0"', lost],
                      ["--nproc-per-node", "2", "--", sys.executable, "-c", lost]):
            with self.subTest(words[0]):
                run = self.run_safelaunch(*words)
                self.assert_status(run, 1)
                self.assertEqual(len(run.attempts), 1, str(run))
                self.assertIn("no rank was seen to start, so training may have begun",
                              json.dumps(run.outcome["stopped_because"]))

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
