"""Scene d: a rank that dies, or fails in its own code, ends the job at once, by its name and with its status."""

import sys

from harness import DDP, SafelaunchTest, free_port, kept_extensions, main, torchrun

# Longer than a test waits for its run: who ends in time has waited for neither.
DEADLINES = ["--init-timeout", "600s", "--collective-timeout", "600s"]

SPAWN = """
import os, signal, sys, torch.distributed as dist, torch.multiprocessing as mp

def work(rank):
    os.environ.update(RANK=str(rank), WORLD_SIZE="3", MASTER_ADDR="127.0.0.1", MASTER_PORT=sys.argv[2])
    if rank == 2:
        print("rank two gives up", file=sys.stderr, flush=True)
        os._exit(3) if sys.argv[1] == "exit" else os.kill(os.getpid(), signal.SIGKILL)
    dist.init_process_group("gloo")

if __name__ == "__main__":
    mp.spawn(work, nprocs=3)
"""

# multiprocessing prints the exception of a rank that has not said who it is, and the first rank waits for it.
FORKS = """
import sys, torch.distributed as dist, torch.multiprocessing as mp

def work(rank):
    if rank == 1: open("no-such-shard")
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{sys.argv[1]}", rank=rank, world_size=2)

ranks = [mp.get_context("fork").Process(target=work, args=(rank,)) for rank in range(2)]
for rank in ranks: rank.start()
for rank in ranks: rank.join()
"""

CATCHES = """
import os, sys, torch, torch.distributed as dist, torch.multiprocessing as mp

def work(rank, backend):
    os.environ.update(RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=sys.argv[2])
    dist.init_process_group(backend)
    dist.all_reduce(torch.ones(1))
    if backend == "gloo" and sys.argv[1] == "11": os._exit(17)
    dist.destroy_process_group()

if __name__ == "__main__":
    for backend in ("nonesuch", "gloo"):
        try:
            mp.spawn(work, args=(backend,), nprocs=2)
            print("trained with", backend)
        except Exception:
            print(backend, "fails")
    sys.exit(int(sys.argv[1]))
"""

DIVIDING = """
import os, torch.distributed as dist
rank = int(os.environ["RANK"])
if rank == 1:
    1 / 0
dist.init_process_group("gloo")
"""

LEAVING = """
import os, sys, torch.distributed as dist
if os.environ["RANK"] == "1":
    sys.exit(0)
dist.init_process_group("gloo")
"""

# Fails in its first life and trains in its second, as elastic jobs do. Rank 0 does not begin with the first, so
# that it is not ended somewhere inside gloo.
RESTARTED = """
import os, sys, time, torch, torch.distributed as dist
if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
    if os.environ["RANK"] == "0":
        time.sleep(600)
    print("a bad first life", file=sys.stderr, flush=True)
    os._exit(3)
dist.init_process_group("gloo")
ones = torch.ones(1)
dist.all_reduce(ones)
sys.stdout.write(f"life {os.environ['TORCHELASTIC_RESTART_COUNT']} sum {int(ones)}\\n")  # in one piece: the ranks share a pipe
dist.destroy_process_group()
"""

# The C library's abort() is called as the last step of the interpreter's own end, on rank 1. It comes to that
# when rank 0 has finished, or before: as its argument says.
ABORTS_AT_ITS_END = """
import ctypes, os, pathlib, resource, sys, time
rank = int(os.environ["RANK"])
if len(sys.argv) > 2:
    import torch, torch.distributed as dist
    dist.init_process_group("gloo")
    dist.all_reduce(torch.ones(1))
    dist.barrier()
if rank == 0:
    pathlib.Path("pid.new").write_text(str(os.getpid()))
    os.rename("pid.new", "pid")
    if sys.argv[1] == "before":
        time.sleep(600)
    os._exit(0)
def is_gone(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True
while not os.path.exists("pid") or (sys.argv[1] == "after" and not is_gone(pathlib.Path("pid").read_text())):
    time.sleep(0.02)
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
ctypes.pythonapi.Py_AtExit(ctypes.cast(ctypes.CDLL(None).abort, ctypes.c_void_p))
"""


class Deaths(SafelaunchTest):
    """Scene d."""

    def assert_named(self, run, rank, status):
        self.assert_status(run, status)
        self.assertEqual(len(run.attempts), 1, f"it was tried again: {run}")
        self.assertIn(f"Rank {rank} failed first", run.attempts[0]["cause"]["explanation"], str(run))
        self.assertIn(f"Rank {rank} failed first", run.err)

    def assert_last_on_the_screen(self, run, words):
        self.assertEqual(run.err.rstrip("\n").splitlines()[-1], words, str(run))

    def test_a_rank_that_exits_before_init_ends_torchruns_job_with_its_own_status(self):
        run = self.run_safelaunch(*DEADLINES, *torchrun("--nproc_per_node=4", DDP, "--hang", "die", "--bad-rank", "3"))
        self.assert_named(run, 3, 3)
        self.assert_last_on_the_screen(run, "the bad rank gives up")
        self.assertNotIn("rank 0 failed", run.err)

    def test_a_rank_that_is_killed_before_init_ends_torchruns_job_with_137(self):
        run = self.run_safelaunch(*DEADLINES, *torchrun("--nproc_per_node=3", DDP, "--hang", "kill", "--bad-rank", "2"))
        self.assert_named(run, 2, 137)

    def test_a_rank_of_our_own_spawn_that_exits_before_init_ends_the_job(self):
        run = self.run_safelaunch(*DEADLINES, "--nproc-per-node", "3", "--", sys.executable, DDP, "--hang", "die", "--bad-rank", "2")
        self.assert_named(run, 2, 3)
        self.assert_last_on_the_screen(run, "the bad rank gives up")

    def test_a_rank_of_our_own_spawn_that_is_killed_ends_the_job_with_137(self):
        run = self.run_safelaunch(*DEADLINES, "--nproc-per-node", "3", "--", sys.executable, DDP, "--hang", "kill", "--bad-rank", "2")
        self.assert_named(run, 2, 137)

    def deepspeed(self, how):
        script = self.script(f"import runpy, sys; sys.argv = ['train.py', '--hang', '{how}', '--bad-rank', '1']; runpy.run_path({DDP!r}, run_name='__main__')")
        return self.run_safelaunch(*DEADLINES, "deepspeed", "--num_gpus", "2", script, env=self.environment(TORCH_EXTENSIONS_DIR=kept_extensions()))

    def test_a_rank_that_exits_before_init_ends_deepspeeds_job(self):
        run = self.deepspeed("die")
        self.assert_named(run, 1, 3)
        self.assert_last_on_the_screen(run, "the bad rank gives up")

    def test_a_rank_that_is_killed_before_init_ends_deepspeeds_job(self):
        self.assert_named(self.deepspeed("kill"), 1, 137)

    def test_a_rank_that_exits_before_init_ends_the_job_of_mp_spawn(self):
        run = self.run_safelaunch(*DEADLINES, sys.executable, self.script(SPAWN), "exit", str(free_port()))
        self.assert_named(run, 2, 3)
        self.assert_last_on_the_screen(run, "rank two gives up")

    def test_a_rank_that_is_killed_before_init_ends_the_job_of_mp_spawn(self):
        run = self.run_safelaunch(*DEADLINES, sys.executable, self.script(SPAWN), "kill", str(free_port()))
        self.assert_named(run, 2, 137)

    def test_a_rank_that_failed_before_anybody_knew_it_is_told_with_its_exception(self):
        run = self.run_safelaunch("--init-timeout", "5s", "--quiet-timeout", "2s", "--", sys.executable, self.script(FORKS), free_port())
        self.assert_status(run, 124)
        self.assertEqual([attempt["cause"]["id"] for attempt in run.attempts], ["user-exception"], str(run))
        self.assertRegex(run.err, r"\| FileNotFoundError: .*no-such-shard")

    def test_a_script_that_catches_the_failure_of_its_ranks_and_starts_others_goes_on(self):
        run = self.run_safelaunch(*DEADLINES, sys.executable, self.script(CATCHES), "0", str(free_port()))
        self.assertEqual((run.status, run.out), (0, "nonesuch fails\ntrained with gloo\n"), str(run))
        self.assertNotIn("safelaunch:", run.err)

    def test_a_script_that_catches_the_failure_of_its_ranks_has_its_own_status(self):
        run = self.run_safelaunch(*DEADLINES, sys.executable, self.script(CATCHES), "11", str(free_port()))
        self.assertEqual((run.status, run.out), (11, "nonesuch fails\ngloo fails\n"), str(run))

    def test_a_rank_that_leaves_with_status_0_while_others_wait_for_it_is_named(self):
        run = self.run_safelaunch(*DEADLINES, *torchrun("--nproc_per_node=2", self.script(LEAVING)))
        self.assert_status(run, 124)
        self.assertEqual(len(run.attempts), 1, str(run))
        self.assertIn("Rank 1 had ended (exit status 0)", run.attempts[0]["cause"]["explanation"], str(run))
        self.assertEqual(run.attempts[0]["cause"]["id"], "rank-left", str(run))

    def test_a_life_that_torchrun_has_mended_is_not_blamed_for_the_end_of_the_next(self):
        script = self.script("import os, sys, time\n"
                             "rank, life = os.environ['RANK'], os.environ['TORCHELASTIC_RESTART_COUNT']\n"
                             "if life == '0' and rank == '1': sys.exit(9)\n"
                             "if life == '1' and rank == '0': raise ValueError('the second life')\n"
                             "time.sleep(600)\n")
        run = self.run_safelaunch(*torchrun("--nproc_per_node=2", "--max-restarts", "1", script))
        self.assert_named(run, 0, 1)

    def test_the_words_of_a_former_life_are_not_quoted(self):
        script = self.script("import os, sys, time\n"
                             "rank, life = os.environ['RANK'], os.environ['TORCHELASTIC_RESTART_COUNT']\n"
                             "if life == '0' and rank == '1': raise RuntimeError('[rank1]: bad luck in the first life')\n"
                             "if life == '1' and rank == '0': sys.exit('the second life')\n"
                             "time.sleep(600)\n")
        run = self.run_safelaunch(*torchrun("--nproc_per_node=2", "--max-restarts", "1", script))
        self.assert_named(run, 0, 1)
        self.assertNotIn("bad luck", str(run.attempts[0]["cause"]) + run.err.partition("safelaunch: failed")[2], str(run))

    def test_torchruns_own_restarts_go_on_as_without_us(self):
        run = self.run_safelaunch(*torchrun("--nproc_per_node=2", "--max-restarts", "1", self.script(RESTARTED)))
        self.assert_status(run, 0)
        self.assertEqual(run.out.count("life 1 sum 2"), 2, str(run))
        self.assertEqual(len(run.attempts), 1, str(run))
        self.assertNotIn("safelaunch: failed", run.err)


class AnAbortInTheInterpretersOwnEnd(SafelaunchTest):
    """torch's gloo does that to a rank now and then, after its program has come to its end."""

    def assert_told(self, run):
        self.assertEqual(len(run.attempts), 1, f"it was tried again: {run}")
        cause = run.attempts[0]["cause"]
        self.assertEqual((cause["id"], cause["certainty"]), ("abort-at-exit", "confirmed"), str(run))
        self.assertIn("Rank 1 finished, then aborted while its interpreter ended", cause["explanation"])
        self.assertIn(cause["explanation"], run.err)
        self.assertIn("A known bug of torch", run.err)
        self.assertEqual(run.outcome["stopped_because"], "the program had finished", str(run))

    def test_nothing_is_lost_where_all_had_finished(self):
        run = self.run_safelaunch(*DEADLINES, "--nproc-per-node", "2", "--", sys.executable, self.script(ABORTS_AT_ITS_END), "after")
        self.assert_status(run, 134)
        self.assert_told(run)
        self.assertIn("all ranks had finished, so nothing of your training is lost", run.err)

    def test_a_rank_that_was_ended_for_it_may_have_lost_something(self):
        run = self.run_safelaunch(*DEADLINES, "--nproc-per-node", "2", "--", sys.executable, self.script(ABORTS_AT_ITS_END), "before")
        self.assert_status(run, 134)
        self.assert_told(run)
        self.assertNotIn("is lost", run.err)

    def test_it_is_told_of_a_job_of_torchrun_that_has_trained(self):
        run = self.run_safelaunch(*DEADLINES, *torchrun("--nproc_per_node=2", self.script(ABORTS_AT_ITS_END), "after", "train"))
        self.assert_status(run, 134)
        self.assert_told(run)


class UsersOwn(SafelaunchTest):
    """Scene d and j: an exception of the user's own is the last thing on the screen."""

    def assert_users_own(self, run):
        self.assert_status(run, 1)
        self.assertEqual(len(run.attempts), 1, str(run))
        self.assertEqual(run.attempts[0]["cause"]["id"], "user-exception", str(run))
        self.assertEqual(run.err.rstrip("\n").splitlines()[-1], "ZeroDivisionError: division by zero", str(run))
        self.assertIn("rank 1 failed first", run.err)

    def test_an_exception_under_torchrun(self):
        self.assert_users_own(self.run_safelaunch(*DEADLINES, *torchrun("--nproc_per_node=2", self.script(DIVIDING))))

    def test_an_exception_under_our_own_spawn(self):
        self.assert_users_own(self.run_safelaunch(*DEADLINES, "--nproc-per-node", "2", "--", sys.executable, self.script(DIVIDING)))


if __name__ == "__main__":
    main()
