"""Scenes b and c: a job that hangs before its first collective is seen, its rank named, and the next profile tried."""

import sys

from harness import DDP, SafelaunchTest, forked, free_port, main, torchrun

BAD_IN_EVERY_ATTEMPT = ["--steps", "5", "--hang", "never-init", "--bad-rank", "2"]

# As torch.multiprocessing.spawn starts ranks: RANK is in nobody's environment.
SPAWNS_BY_ITSELF = '''
import os
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def never_reaches_init():
    while True:
        time.sleep(3600)


def worker(rank, world_size):
    if rank == 2 and os.environ["SAFELAUNCH_ATTEMPT"] in sys.argv[1:]:
        never_reaches_init()
    dist.init_process_group("gloo", rank=rank, world_size=world_size)
    dist.all_reduce(torch.ones(1))
    dist.destroy_process_group()


if __name__ == "__main__":
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="FREE_PORT")
    mp.spawn(worker, args=(3,), nprocs=3)
'''

# The same, and where the ranks meet is in nobody's environment either.
SPAWNS_AND_HIDES_ITS_STORE = SPAWNS_BY_ITSELF.replace(
    "    dist.init_process_group(", """    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=sys.argv[2])
    dist.init_process_group(""").replace(
    "    os.environ.update(MASTER_ADDR=\"127.0.0.1\", MASTER_PORT=\"FREE_PORT\")",
    "    sys.argv.append(\"FREE_PORT\")")

CLAIMS_A_LARGER_WORLD = '''
import os
import torch.distributed as dist
dist.init_process_group("gloo", world_size=3, rank=int(os.environ["RANK"]))
'''

# As Lightning starts ranks: the script starts itself anew, with LOCAL_RANK and without RANK.
STARTS_ITSELF_ANEW = '''
import os
import subprocess
import sys
import time

import torch
import torch.distributed as dist

if "LOCAL_RANK" in os.environ:
    while True:
        time.sleep(3600)
os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="FREE_PORT", NODE_RANK="0", WORLD_SIZE="2")
subprocess.Popen([sys.executable, *sys.argv], env={**os.environ, "LOCAL_RANK": "1"})
print("Initializing distributed: GLOBAL_RANK: 0, MEMBER: 1/2", flush=True)
dist.init_process_group("gloo", rank=0, world_size=2)
'''

# Rank 1 is stopped when it is inside its first all_reduce: the others wait outside until then.
STOPPED_INSIDE = '''
import linecache
import os
import pathlib
import signal
import sys
import threading
import time

import torch
import torch.distributed as dist

FOLDER = pathlib.Path(sys.argv[1], os.environ["SAFELAUNCH_ATTEMPT"])


def is_inside():
    """In the operation itself, or in the wait for it: the hook has told that it begins."""
    frame = sys._current_frames()[threading.main_thread().ident]
    while frame is not None:
        code = frame.f_code
        if code.co_name == "redispatch":
            return True
        if code.co_name == "all_reduce" and code.co_filename.endswith("distributed_c10d.py"):
            return ".wait()" in linecache.getline(code.co_filename, frame.f_lineno)
        frame = frame.f_back
    return False


def stop_once_inside():
    while not is_inside():
        time.sleep(0.05)
    (FOLDER / "stopped").touch()
    os.kill(os.getpid(), signal.SIGSTOP)


FOLDER.mkdir(exist_ok=True)
dist.init_process_group("gloo")
bad = dist.get_rank() == 1 and os.environ["SAFELAUNCH_ATTEMPT"] == "1"
if bad:
    threading.Thread(target=stop_once_inside, daemon=True).start()
while not bad and os.environ["SAFELAUNCH_ATTEMPT"] == "1" and not (FOLDER / "stopped").exists():
    time.sleep(0.05)
dist.all_reduce(torch.ones(1))
dist.destroy_process_group()
'''

WAITS_FOR_A_PEER_OF_RPC = '''
import os
import time
import torch.distributed.rpc as rpc


def never_reaches_rpc():
    while True:
        time.sleep(3600)


if os.environ["RANK"] == "1":
    never_reaches_rpc()
rpc.init_rpc("worker0", rank=0, world_size=2)
'''


def at_a_free_port(script):
    return script.replace("FREE_PORT", str(free_port()))


class HangTest(SafelaunchTest):
    def verdicts(self, run):
        return [event for event in run.events if event["e"] == "verdict"]

    def explanation(self, run, attempt=0):
        return run.attempts[attempt]["cause"]["explanation"]


class ARankThatNeverReachesInit(HangTest):
    """Scene b."""

    def run_job(self, *words):
        return self.run_safelaunch("--init-timeout", "4s", "--profile", "basic,conservative,no-shm", *words)

    def assert_rank_2_is_named(self, run, attempt=0):
        self.assertEqual(run.attempts[attempt]["end"], "hung", str(run))
        self.assertEqual(run.attempts[attempt]["cause"]["id"], "rank-missing", str(run))
        explanation = self.explanation(run, attempt)
        named = r"^Rank 2 was missing; ranks 0 and 1 waited \d+(\.\d+)?s for it to (come to|join) the [a-z ]+\. It was idling"
        self.assertRegex(explanation, named, str(run))
        self.assertRegex(run.err, r"(?m)^safelaunch: hung: rank 2 never (came to|joined) the [a-z ]+\n")

    def assert_function_is_named(self, run, attempt=0):
        self.assertIn("never_reaches_init", self.explanation(run, attempt), str(run))
        self.assertRegex(run.err, r"(?m)^  --> \S+\.py:\d+ in never_reaches_init:  \S+")
        evidence = next(run.directory.glob(f"attempt-{attempt + 1}-*")) / "evidence"
        self.assertIn("never_reaches_init", (evidence / "rank-2.stack").read_text())
        for rank in (0, 1):
            self.assertIn("init_process_group", (evidence / f"rank-{rank}.stack").read_text())

    def test_a_job_on_gloo_is_not_started_again_for_profiles_of_nccl(self):
        run = self.run_safelaunch("--init-timeout", "4s", *torchrun("--nproc-per-node", "2", DDP, "--hang", "never-init", "--bad-rank", "1"))
        self.assert_status(run, 124)
        self.assertEqual([one["profile"] for one in run.attempts], ["basic"], str(run))
        self.assertEqual(run.outcome["stopped_because"], "no profile is left that could change anything")

    def test_named_profiles_are_tried_until_it_stands_at_the_same_place_again(self):
        run = self.run_job(*torchrun("--nproc-per-node", "3", DDP, *BAD_IN_EVERY_ATTEMPT))
        self.assert_status(run, 124)
        self.assertEqual([one["profile"] for one in run.attempts], ["basic", "conservative"], str(run))
        self.assertRegex(run.outcome["stopped_because"], r"^rank 2 stands in train.py:\d+ never_reaches_init.* again, where no profile")
        for attempt in (0, 1):
            self.assert_rank_2_is_named(run, attempt)
            self.assert_function_is_named(run, attempt)

    def test_it_is_named_without_the_hook_under_torchrun(self):
        run = self.run_safelaunch("--no-hook", "--init-timeout", "4s", "--only",
                                  *torchrun("--nproc-per-node", "3", DDP, *BAD_IN_EVERY_ATTEMPT))
        self.assert_status(run, 124)
        self.assert_rank_2_is_named(run)

    def test_a_world_that_is_larger_than_what_was_started_is_not_waited_for(self):
        run = self.run_safelaunch("--init-timeout", "4s", "--quiet-timeout", "4s", "--nproc-per-node", "2", "--", sys.executable,
                                  self.script(CLAIMS_A_LARGER_WORLD))
        self.assertEqual(run.status, 124, str(run))
        self.assertIn("hung: rank 2 never joined the process group", run.err)
        self.assertIn("No process that safelaunch sees came as rank 2.", run.err)

    def test_it_is_named_where_the_others_meet_by_rpc(self):
        run = self.run_safelaunch("--init-timeout", "4s", *torchrun("--nproc-per-node", "2", self.script(WAITS_FOR_A_PEER_OF_RPC)))
        self.assert_status(run, 124)
        self.assertEqual([one["cause"]["id"] for one in run.attempts], ["rank-missing"], str(run))
        self.assertIn("hung: rank 1 never joined the process group", run.err)
        self.assertRegex(run.err, r"(?m)^  --> \S+\.py:\d+ in never_reaches_rpc:  \S+")

    def test_it_is_named_with_its_function_under_own_spawn(self):
        run = self.run_safelaunch("--init-timeout", "4s", "--only", "--nproc-per-node", "3", "--",
                                  sys.executable, DDP, *BAD_IN_EVERY_ATTEMPT)
        self.assert_status(run, 124)
        self.assert_rank_2_is_named(run)
        self.assert_function_is_named(run)

    def test_it_is_named_with_its_function_where_the_script_spawns_its_ranks(self):
        run = self.run_job(sys.executable, self.script(at_a_free_port(SPAWNS_BY_ITSELF)), "1")
        self.assert_status(run, 0)
        self.assertEqual(run.outcome["worked_with"], "conservative", str(run))
        self.assert_rank_2_is_named(run)
        self.assert_function_is_named(run)

    def test_it_is_named_without_the_hook_where_the_script_spawns_its_ranks(self):
        run = self.run_safelaunch("--no-hook", "--init-timeout", "4s", "--only",
                                  sys.executable, self.script(at_a_free_port(SPAWNS_BY_ITSELF)), "1")
        self.assert_status(run, 124)
        self.assert_rank_2_is_named(run)

    def test_it_alone_is_named_without_the_hook_where_the_script_hides_its_store(self):
        run = self.run_safelaunch("--no-hook", "--init-timeout", "4s", "--only",
                                  sys.executable, self.script(at_a_free_port(SPAWNS_AND_HIDES_ITS_STORE)), "1")
        self.assert_status(run, 124)
        self.assert_rank_2_is_named(run)


class ARankStoppedInItsFirstCollective(HangTest):
    """Scene c."""

    def assert_named_as_stopped(self, run):
        self.assert_status(run, 0)
        self.assertEqual(run.attempts[0]["end"], "hung", str(run))
        self.assertEqual(run.attempts[0]["cause"]["id"], "rank-stopped", str(run))
        self.assertEqual(run.outcome["worked_with"], "basic", str(run))  # no setting had stopped it
        explanation = self.explanation(run)
        self.assertRegex(explanation, r"It was stopped, by a signal \(pid \d+, state T\)", str(run))
        self.assertRegex(run.err, r"hung: rank 1 \(stopped\) does not get through the first collective")
        verdict = self.verdicts(run)[0]
        self.assertIn("hung in collective: rank 1 does not come through (stopped: by a signal", verdict["text"])

    def run_job(self, launch, **environment):
        limits = ["--stopped-timeout=5s", *(f"--{name}-timeout=600s" for name in ("init", "collective", "quiet"))]  # longer than a test waits
        script = self.script(STOPPED_INSIDE)
        return self.run_safelaunch(*limits, *launch(script, self.folder), env=self.environment(**environment))

    def test_it_is_named_long_before_the_timeouts(self):
        self.assert_named_as_stopped(self.run_job(lambda *words: torchrun("--nproc-per-node", "3", *words)))

    def test_it_is_named_where_gloo_connects_inside_the_collective(self):
        self.assert_named_as_stopped(self.run_job(lambda *words: ["--", *forked(*words, ranks=3)], TORCH_GLOO_LAZY_INIT="1"))


class AScriptThatStartsItselfAnew(SafelaunchTest):
    """Lightning's ranks have no RANK, and what it prints in every run is no cause."""

    def test_a_rank_that_never_comes_is_seen_and_named(self):
        run = self.run_safelaunch("--only", "--init-timeout", "4s", "--quiet-timeout", "2s", "--", sys.executable,
                                  self.script(at_a_free_port(STARTS_ITSELF_ANEW)))
        self.assert_status(run, 124)
        (attempt,) = run.attempts
        self.assertEqual(attempt["cause"]["id"], "rank-missing", str(run))
        self.assertIn("It was idling", attempt["cause"]["explanation"], str(run))


if __name__ == "__main__":
    main()
