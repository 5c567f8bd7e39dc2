"""Ranks that wait for something which will come: nobody ends their job.

They are plain processes that tell safelaunch of themselves as the hook would, so each job is short.
"""

import pathlib
import re
import socket
import subprocess
import sys
import threading
import time

from harness import SAFELAUNCH, SafelaunchTest, free_port, main, wait_until
from terminal import Terminal

QUICK = ["--only", "--init-timeout", "3s", "--collective-timeout", "3s", "--quiet-timeout", "1s"]
LONGER = 5  # seconds: longer than those deadlines

PREAMBLE = f'''
import os, signal, socket, sys, time
sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})
import light_worker

RANK = light_worker.RANK
hook = light_worker.Hook()
hook.tell("imported", lib="torch", version="2.13.0")


def work(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(10_000))


def init():
    hook.tell("init.enter", backend="gloo", backend_used="gloo", timeout_s=1800, init_method="env://")
    store = light_worker.Store()
    store.meet()
    hook.tell("group", backend="gloo")
    return store


def train(store):
    hook.tell("coll.enter", op="allreduce_")
    store.meet()
    hook.tell("coll.done", op="allreduce_", ms=1.0)
    print("done", flush=True)


'''


class HealthyWaits(SafelaunchTest):
    def job(self, ranks, text, *options):
        script = self.script(PREAMBLE + text)
        return [*(options or QUICK), "--nproc-per-node", str(ranks), "--", "python", script]

    def assert_healthy(self, run, ranks):
        self.assert_status(run, 0)
        self.assertEqual(run.out.count("done"), ranks, str(run))
        self.assertNotIn("verdict", [event["e"] for event in run.events], str(run))

    def test_a_database_that_takes_longer_than_the_quiet_timeout(self):
        server = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(server.close)

        def answer():
            customer, _ = server.accept()
            time.sleep(LONGER)
            customer.sendall(b"x")
            customer.close()

        threading.Thread(target=answer, daemon=True).start()
        run = self.run_safelaunch(*self.job(2, f"""
if RANK == 0:
    assert socket.create_connection({server.getsockname()!r}).recv(1)
train(init())
""", "--only", "--init-timeout", "60s", "--quiet-timeout", "1s"))
        self.assert_healthy(run, 2)

    def test_a_rank_that_is_stopped_for_less_than_a_second_and_one_whose_cpu_is_limited_by_stops(self):
        run = self.run_safelaunch(*self.job(2, """
if RANK == 0:
    if os.fork() == 0:
        try:
            for pause, between in [(0.8, 0.5)] + [(0.095, 0.005)] * 30:
                os.kill(os.getppid(), signal.SIGSTOP)
                time.sleep(pause)
                os.kill(os.getppid(), signal.SIGCONT)
                time.sleep(between)
        finally:
            os.kill(os.getppid(), signal.SIGCONT)
            os._exit(0)
    os.wait()
train(init())
""", "--only"))
        self.assert_healthy(run, 2)

    def test_ranks_that_come_one_after_the_other(self):
        run = self.run_safelaunch(*self.job(4, """
time.sleep(RANK * 2)
train(init())
""", "--only", "--init-timeout", "4s", "--quiet-timeout", "1s"))
        self.assert_healthy(run, 4)

    def test_a_rank_that_works_after_a_subgroups_collective(self):
        run = self.run_safelaunch(*self.job(3, f"""
store = init()
if RANK < 2:
    hook.tell("coll.enter", op="allreduce_")
    hook.tell("coll.done", op="allreduce_", ms=1.0)
if RANK == 0:
    work({LONGER})
train(store)
"""))
        self.assert_healthy(run, 3)

    def test_a_rank_at_a_prompt_is_a_person(self):
        terminal = Terminal([SAFELAUNCH, *self.job(2, """
if RANK == 0:
    input("your name? ")
train(init())
""")], env=self.environment(), cwd=self.folder)
        self.addCleanup(terminal.process.kill)
        terminal.read_until(b"your name?")
        time.sleep(LONGER)
        terminal.type(b"somebody\n")
        terminal.read_until(b"done", times=2)
        self.assertEqual(terminal.close(), 0, terminal.output)

    def test_a_rank_at_a_prompt_is_told_of(self):
        with open("/dev/null") as nothing:
            job = self.start(*self.job(2, """
if RANK == 0:
    import pty
    master, keyboard = pty.openpty()
    if os.fork() == 0:
        time.sleep(4)
        os.write(master, b"x\\n")
        os._exit(0)
    assert os.read(keyboard, 1)
train(init())
"""), stdin=nothing)
            run = self.finish(job)
        self.assert_healthy(run, 2)
        told = [event["text"] for event in run.events if event["e"] == "status"]
        self.assertTrue(any("rank 0 (attended: waits for somebody to type at the terminal)" in text for text in told), told)

    def test_a_rank_of_another_node_that_may_be_at_work_for_all_that_can_be_seen_here(self):
        port = free_port()
        # That node has no safelaunch, so this one is to wait for no agent.
        words = self.job(1, "train(init())\n", *QUICK, "--nnodes", "2", "--node-rank", "0", "--master-addr", "127.0.0.1",
                         "--master-port", str(port), "--rendezvous", "none")
        here = self.start(*words)
        events = here.run_directory / "events.jsonl"
        unseen = "waiting for rank 1 (never seen)"
        wait_until(lambda: here.poll() is not None or events.exists() and unseen in events.read_text(), what="the wait")
        with self.assertRaises(subprocess.TimeoutExpired):
            here.wait(LONGER)
        there = subprocess.run([sys.executable, words[-1]], capture_output=True, text=True, timeout=120,
                               env=self.environment(RANK="1", WORLD_SIZE="2", LOCAL_RANK="0", MASTER_ADDR="127.0.0.1",
                                                    MASTER_PORT=str(port)))
        self.assertEqual(there.stdout, "done\n", there.stderr)
        self.assert_healthy(self.finish(here), 1)

    def test_a_late_rank_leaves_stderr_empty_before_half_of_the_deadline(self):
        late = f"if RANK == 1: time.sleep({LONGER + 7})\ntrain(init())\n"
        run = self.run_safelaunch(*self.job(2, late, "--only", "--init-timeout", "10min", "--quiet-timeout", "10min"))
        self.assert_healthy(run, 2)
        self.assertEqual(run.err, "")
        self.assertTrue(any("waiting for rank 1" in event.get("text", "") for event in run.events), run.events)

    def test_a_late_rank_is_told_of_once_after_half_of_the_deadline(self):
        comes = self.folder / "comes"
        late = f"while RANK == 1 and not os.path.exists({str(comes)!r}): time.sleep(0.05)\ntrain(init())\n"
        said = self.folder / "said"
        with said.open("w") as err:
            job = self.start(*self.job(2, late, "--only", "--init-timeout", "30s", "--quiet-timeout", "30s"), stderr=err)
        wait_until(lambda: job.poll() is not None or "waiting for rank 1" in said.read_text(), what="the line")
        comes.touch()
        self.assert_healthy(self.finish(job), 2)
        line = r"\Asafelaunch: attempt 1 basic · .* · waiting for rank 1 \(.*\) (\d+)s/\d+s\n\Z"
        self.assertRegex(said.read_text(), line)
        self.assertGreaterEqual(int(re.search(line, said.read_text())[1]), 15)


if __name__ == "__main__":
    main(needs=())
