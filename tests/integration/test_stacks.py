"""safelaunch stacks: where each rank of a job stands that runs now, whoever has started it."""

import contextlib
import json
import pathlib
import re
import subprocess
import sys

from harness import HANGS_IN_TRAINING, SAFELAUNCH, SafelaunchTest, free_port, is_alive, main, wait_until

# Rank 1 never comes; the others wait for it.
HANG = '''
import os
import time

import torch.distributed as dist


def never_reaches_init():
    time.sleep(3600)


if os.environ["RANK"] == "1":
    never_reaches_init()
dist.init_process_group("gloo")
'''

# A rank without torch, started by nobody of ours.
SLEEPER = '''
import socket
import sys
import time

if sys.argv[1] == "0":
    door = socket.create_server(("127.0.0.1", int(sys.argv[2])))
elif sys.argv[1] == "1":
    held = socket.create_connection(("127.0.0.1", int(sys.argv[2])))
print("up", flush=True)


def sleeps_for_ever():
    time.sleep(3600)


sleeps_for_ever()
'''


class StacksTest(SafelaunchTest):
    def stacks(self, *words):
        return subprocess.run([SAFELAUNCH, "stacks", *map(str, words)], env=self.environment(), cwd=self.folder,
                              capture_output=True, text=True, timeout=120)

    def places(self, *words):
        """The one job as JSON, by rank; nothing while there is none."""
        told = self.stacks("--json", *words)
        self.assertEqual(told.returncode, 0, told.stderr)
        jobs = json.loads(told.stdout)
        return (jobs[0], {one.get("rank"): one for one in jobs[0]["ranks"]}) if jobs else ({}, {})


class OurJobs(StacksTest):
    @contextlib.contextmanager
    def hang(self, *options):
        job = self.start(*options, "--nproc-per-node", "3", "--", sys.executable, self.script(HANG))
        try:
            wait_until(lambda: (job.run_directory / "job.json").exists(), what="the run")
            yield job
        finally:
            job.terminate()
            self.finish(job)

    def test_the_hooks_of_a_hung_job_tell_where_each_rank_stands(self):
        with self.hang() as job:
            self.see_where_they_stand(job)

    def see_where_they_stand(self, job):
        def stand():
            ranks = self.places()[1]
            return ("never_reaches_init" in ranks.get(1, {}).get("where", "")
                    and all("init_process_group" in ranks.get(rank, {}).get("where", "") for rank in (0, 2))
                    and all(ranks[rank]["standing"].startswith("waits in") for rank in (0, 2)))

        wait_until(stand, what="the places of all ranks")
        told = self.stacks()
        self.assertRegex(told.stdout, r"rank 1 \(pid \d+\): in job.py:\d+ never_reaches_init; has reached imported")
        self.assertRegex(told.stdout, "not connected: rank 1\n")
        ranks = self.places()[1]
        self.assertEqual({one["teller"] for one in ranks.values()}, {"hook"})
        # The same by the id, by the pid of safelaunch and by that of a rank.
        run = json.loads((job.run_directory / "job.json").read_text())
        for named in (run["run"], run["run"][-6:], job.pid, ranks[1]["pid"]):
            self.assertIn(run["run"], self.stacks(named).stdout)
        self.assertIsNone(job.poll())
        self.assertTrue(all(is_alive(one["pid"]) for one in ranks.values()))
        self.assertFalse([event for event in map(json.loads, (job.run_directory / "events.jsonl").read_text().splitlines())
                          if event["e"] in ("verdict", "notice", "hook_error")])

    def test_in_training_too_the_hooks_tell_where_the_ranks_stand_and_what_they_have_finished(self):
        job = self.start("--nproc-per-node", "2", "--", sys.executable, self.script(HANGS_IN_TRAINING))
        try:
            wait_until(lambda: "loads_data" in self.places()[1].get(1, {}).get("where", ""), what="rank 1 in its place")
            ranks = self.places()[1]
            self.assertIn("all_reduce", ranks[0]["where"])
            self.assertEqual([ranks[rank]["standing"] for rank in (0, 1)], ["in training"] * 2)
            # gloo's two threads each note what they have finished; the older may be noted last.
            for rank in (0, 1):
                self.assertIn(ranks[rank]["collectives"], (18, 19, 20))
            self.assertRegex(self.stacks().stdout,
                             r"rank 1 \(pid \d+\): in job.py:\d+ loads_data; in training; (18|19|20) collectives finished")
            told = []

            def is_idling():  # after the questions, which cost the rank some processor time
                told.append(self.verb("status"))
                return re.search(r"rank 1 .* idling, in job.py:\d+ loads_data\n", told[-1])

            wait_until(is_idling, what="rank 1 idling in its place")
            self.assertIn("0.0 collectives a second", told[-1])
        finally:
            job.terminate()
            self.finish(job)

    def test_without_a_hook_the_kernel_tells(self):
        with self.hang("--no-hook"):
            ranks = {}

            def all_in_the_script():
                ranks.update(self.places()[1])
                return len(ranks) == 3 and all("job.py:" in one["where"] for one in ranks.values())

            wait_until(all_in_the_script, what="all ranks in the script")
        self.assertTrue(all(one["doing"] for one in ranks.values()), ranks)
        self.assertEqual({one["teller"] for one in ranks.values()}, {"safelaunch"})

    def test_a_run_that_is_over_is_told_as_such(self):
        run = self.run_safelaunch("--", "true")
        told = self.stacks(json.loads((run.directory / "job.json").read_text())["run"])
        self.assertEqual(told.returncode, 64)
        self.assertIn("does not run any more: completed", told.stderr)

    def test_who_is_not_there_is_refused(self):
        for words, said in (((2 ** 30,), "no process has the pid"), (("nosuchrun",), "nosuchrun"),
                            (("1", "2"), "one run or pid")):
            told = self.stacks(*words)
            self.assertEqual((told.returncode, told.stdout), (64, ""), told)
            self.assertIn(said, told.stderr)


class OthersJobs(StacksTest):
    def setUp(self):
        super().setUp()
        self.port = free_port()
        self.ranks = [self.rank(rank) for rank in range(3)]

    def rank(self, rank):
        process = subprocess.Popen(
            [sys.executable, self.script(SLEEPER, "sleeper.py"), str(rank), str(self.port)], stdout=subprocess.PIPE,
            env=self.environment(RANK=str(rank), WORLD_SIZE="4", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(self.port)))
        self.addCleanup(process.stdout.close)
        self.assertEqual(process.stdout.readline(), b"up\n")  # rank 0 listens before another comes
        return process

    def tearDown(self):
        for rank in self.ranks:
            rank.kill()
            rank.wait()
        super().tearDown()

    def test_ranks_that_safelaunch_did_not_start_are_told_by_the_kernel(self):
        told = self.stacks(self.ranks[0].pid)
        self.assertEqual(told.returncode, 0, told.stderr)
        self.assertIn("rank 3 of 4: on no process of this host", told.stdout)
        self.assertRegex(told.stdout, rf"store 127.0.0.1:{self.port}, held by rank 0 \(pid {self.ranks[0].pid}\); "
                                      r"connected: rank 1; not connected: ranks 0 2")
        ranks = self.places(self.ranks[1].pid)[1]  # any of them leads to all
        self.assertEqual(sorted(ranks), [0, 1, 2])
        self.assertEqual([ranks[one]["pid"] for one in range(3)], [rank.pid for rank in self.ranks])
        self.assertTrue(all("sleep" in one["doing"] for one in ranks.values()), ranks)
        self.assertEqual([pathlib.Path(f"/proc/{rank.pid}/stat").read_text().rpartition(")")[2].split()[0]
                          for rank in self.ranks], ["S"] * 3)

    def test_without_a_word_all_processes_with_a_rank_are_told(self):
        told = self.stacks()
        self.assertIn(f"the job that meets at 127.0.0.1:{self.port}\n", told.stdout)

    def test_py_spy_tells_where_the_python_stands_where_it_is_installed(self):
        py_spy = self.folder / "py-spy"
        py_spy.write_text(f"#!{sys.executable}\n" + FAKE_PY_SPY)
        py_spy.chmod(0o755)
        environment = self.environment()
        environment["PATH"] = f"{self.folder}:{environment['PATH']}"
        told = subprocess.run([SAFELAUNCH, "stacks", str(self.ranks[2].pid)], env=environment, capture_output=True,
                              text=True, timeout=120)
        self.assertRegex(told.stdout, r"ranks 0-2 \(pids .*\): in sleeper.py:18 sleeps_for_ever; ")
        told = subprocess.run([SAFELAUNCH, "stacks", str(self.ranks[2].pid)], env={**environment, "REFUSE": "1"},
                              capture_output=True, text=True, timeout=120)
        self.assertIn("the kernel does not let it look into another process", told.stdout)


FAKE_PY_SPY = '''
import json
import os
import sys

assert sys.argv[1:4] == ["dump", "--nonblocking", "--json"], sys.argv
if "REFUSE" in os.environ:
    sys.exit("Permission Denied: Try running again with elevated permissions by going 'sudo ...'")
pid = int(sys.argv[5])
print(json.dumps([{"pid": pid, "thread_name": "MainThread", "os_thread_id": pid,
                   "frames": [{"name": "sleeps_for_ever", "filename": "/x/sleeper.py", "line": 18}]}], indent=1))
'''


if __name__ == "__main__":
    main()
