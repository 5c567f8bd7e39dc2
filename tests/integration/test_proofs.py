"""Hangs whose reason the ranks themselves prove: an exception that nobody sees, stores, locks, a leftover, a launcher."""

import os
import sys
import tempfile

from harness import SafelaunchTest, forked, free_port, main, torchrun

SHORT = ["--only", "--init-timeout", "4s", "--collective-timeout", "4s", "--quiet-timeout", "3s"]

BARRIER_IN_FINALLY = """
import torch
import torch.distributed as dist


def load(rank):
    return {"inputs": 1} if rank else {"inputs": 1, "labels": 2}


def train():
    dist.all_reduce(torch.full((8,), float(load(dist.get_rank())["labels"])))


dist.init_process_group("gloo")
try:
    train()
finally:
    dist.barrier()
"""

# Rank 0 makes up for the exception that it handles, and waits for rank 1 meanwhile.
MAKES_UP_FOR_IT = """
import threading
import torch, torch.distributed as dist


def never_comes():
    threading.Event().wait()


dist.init_process_group("gloo")
if dist.get_rank() == 1:
    never_comes()
try:
    data = open("no-such-cache").read()
except FileNotFoundError:
    dist.broadcast(torch.ones(1), 0)
"""

BARRIER_AT_EXIT = """
import atexit
import torch, torch.distributed as dist


def goodbye():
    dist.barrier()


dist.init_process_group("gloo")
atexit.register(goodbye)
if dist.get_rank() == 1:
    raise ValueError("bad config")
dist.all_reduce(torch.ones(1))
"""

THREAD_RAISES = """
import os
import threading

import torch.distributed as dist


def train():
    raise ValueError("no data")


if os.environ["RANK"] == "1":
    threading.Thread(target=train).start()
    threading.Event().wait()
dist.init_process_group("gloo")
"""

POOL_WORKER_DIES = """
import multiprocessing
import os
import signal

import torch.distributed as dist


def work(number):
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    if os.environ["RANK"] == "1":
        with multiprocessing.Pool(2) as pool:
            pool.map(work, [1])
    dist.init_process_group("gloo")
"""

# Rank 1 looks for the store at an address that is nobody's (RFC 5737).
OTHER_HOST = """
import os, torch.distributed as dist
if os.environ["RANK"] == "1": os.environ["MASTER_ADDR"] = "192.0.2.1"
dist.init_process_group("gloo")
"""

OWN_PORTS = """
import os
import socket

import torch.distributed as dist
import torch.multiprocessing as mp


def work(rank):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)


if __name__ == "__main__":
    mp.spawn(work, nprocs=2)
"""

ONE_OF_TWO = """
import torch.distributed as dist
import torch.multiprocessing as mp

def train(rank):
    dist.init_process_group("gloo", init_method="tcp://127.0.0.1:%d", rank=rank, world_size=2)

if __name__ == "__main__":
    mp.spawn(train, nprocs=1)
"""

LEFT_FILE = """
import sys

import torch.distributed as dist
import torch.multiprocessing as mp


def work(rank):
    dist.init_process_group("gloo", init_method="file://" + sys.argv[1], rank=rank, world_size=3)


if __name__ == "__main__":
    mp.spawn(work, nprocs=2)
"""

BARRIER_IN_LOCK = """
import fcntl
import sys

import torch.distributed as dist

dist.init_process_group("gloo")
with open(sys.argv[1], "w") as lock:
    if dist.get_rank() == 1:
        fcntl.flock(lock, fcntl.LOCK_EX)
        dist.distributed_c10d._get_default_store().set("locked", "1")
        dist.barrier()
    dist.distributed_c10d._get_default_store().wait(["locked"])
    fcntl.flock(lock, fcntl.LOCK_EX)
"""


class Proofs(SafelaunchTest):
    def cause(self, script, *words, options=SHORT, status=124):
        run = self.run_safelaunch(*options, *words, self.script(script))
        self.assert_status(run, status)
        self.assertEqual(len(run.attempts), 1, str(run))
        return run.attempts[0]["cause"]

    def cause_forked(self, script):
        return self.cause(script, "--", *forked())

    def test_the_exception_of_a_rank_that_waits_in_its_finally_is_the_cause(self):
        if not hasattr(sys, "_current_exceptions"):
            self.skipTest("Python tells of them from 3.10 on")
        cause = self.cause_forked(BARRIER_IN_FINALLY)
        self.assertEqual(cause["id"], "user-exception")
        self.assertRegex(cause["explanation"], r"Rank 1 raised KeyError: 'labels' in job\.py:\d+ train")
        self.assertRegex(cause["explanation"], r"ank 1 in job\.py:\d+ <module> → barrier")

    def test_an_exception_that_a_rank_makes_up_for_is_no_cause(self):
        cause = self.cause_forked(MAKES_UP_FOR_IT)
        self.assertEqual((cause["id"], cause["certainty"]), ("rank-missing", "confirmed"))
        self.assertNotIn("FileNotFoundError", cause["explanation"])

    def test_the_exception_of_a_rank_that_waits_in_an_atexit_function_is_the_cause(self):
        cause = self.cause(BARRIER_AT_EXIT, *torchrun("--nproc-per-node", "2"), status=1)
        self.assertEqual(cause["id"], "user-exception")
        self.assertRegex(cause["explanation"], r"Rank 1 raised ValueError: bad config in job\.py:\d+ <module>")
        self.assertRegex(cause["explanation"], r"ank 1 in job\.py:\d+ goodbye → barrier")

    def test_the_exception_of_a_missing_ranks_thread_is_the_cause(self):
        cause = self.cause(THREAD_RAISES, *torchrun("--nproc-per-node", "2"))
        self.assertEqual(cause["id"], "user-exception")
        self.assertRegex(cause["explanation"], r"thread of rank 1 raised ValueError: no data in job\.py:\d+ train")

    def test_a_killed_worker_of_a_missing_ranks_pool_is_named(self):
        cause = self.cause(POOL_WORKER_DIES, *torchrun("--nproc-per-node", "2"))
        self.assertEqual(cause["id"], "child-died")
        self.assertRegex(cause["explanation"], r"child of rank 1 \(pid \d+\) had ended: killed by SIGKILL")

    def test_ranks_at_stores_of_their_own_are_told_at_once(self):
        cause = self.cause(OWN_PORTS, sys.executable, options=["--init-timeout", "600s"])
        self.assertEqual((cause["id"], cause["certainty"]), ("different-stores", "confirmed"))
        self.assertRegex(cause["explanation"], r"rank 0 127\.0\.0\.1:\d+, rank 1 127\.0\.0\.1:\d+")

    def test_a_rank_at_another_hosts_address_is_at_a_different_store(self):
        cause = self.cause(OTHER_HOST, *torchrun("--nproc-per-node", "2"))
        self.assertEqual((cause["id"], cause["certainty"]), ("different-stores", "confirmed"))
        self.assertRegex(cause["explanation"], r"rank 0 \S+:\d+, rank 1 192\.0\.2\.1:\d+")

    def test_a_world_larger_than_what_was_started_is_no_rank_that_stays_away(self):
        cause = self.cause(ONE_OF_TWO % free_port(), sys.executable)
        self.assertEqual((cause["id"], cause["certainty"]), ("rank-not-started", "confirmed"))
        self.assertIn("said to have 2 ranks, and 1 came", cause["explanation"])

    def test_a_file_of_an_earlier_run_in_which_the_ranks_meet_is_named(self):
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"left by another run")
            file.flush()
            run = self.run_safelaunch(*SHORT, sys.executable, self.script(LEFT_FILE), file.name)
            cause = run.attempts[0]["cause"]
            self.assertEqual((cause["id"], cause["certainty"]), ("stale-init-file", "confirmed"), str(run))
            self.assertIn(file.name, cause["explanation"])

    def test_a_lock_that_is_held_across_a_collective_blames_its_holder(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "cache.lock")
            run = self.run_safelaunch(*SHORT, "--", *forked(self.script(BARRIER_IN_LOCK), path))
            self.assert_status(run, 124)
            cause = run.attempts[0]["cause"]
            self.assertEqual(cause["id"], "lock-across-collective", str(run))
            self.assertRegex(cause["explanation"], r"waits for the lock .*cache\.lock .*which rank 1 \(pid \d+\) holds")


if __name__ == "__main__":
    main()
