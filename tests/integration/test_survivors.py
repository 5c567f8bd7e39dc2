"""Scene m: whoever is killed, and whenever, nothing of the job is left."""

import os
import random
import select
import signal
import sys
import time

from harness import DDP, SOAK, SafelaunchTest, children_of, is_alive, main, processes_with, torchrun, wait_until

# A launcher with ranks, made of Python's own library: ranks that ignore TERM, workers of theirs,
# and daemons with a session, a parent and an environment of their own. Each leaves its pid.
TREE = """
import os, pathlib, signal, subprocess, sys, time

def note(what):
    pathlib.Path("pids", f"{os.getpid()}-{what}").touch()

def daemon():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            note("daemon")
            os.execve("/bin/sleep", ["sleep", "600"], {})
        os._exit(0)
    os.wait()

def rank():
    note("rank")
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    daemon()
    subprocess.Popen(["sleep", "600"], start_new_session=True)
    note("up")
    while True:
        time.sleep(600)

if len(sys.argv) > 1:
    rank()
note("launcher")
ranks = [subprocess.Popen([sys.executable, __file__, str(number)]) for number in range(3)]
for one in ranks:
    one.wait()
"""

# Each process lives a millisecond and leaves a successor with a session of its own; for ten seconds
# at most, so that a failure of this test ends by itself.
RUNNER = """
import os, time
print("running", flush=True)
end = time.monotonic() + 10
while time.monotonic() < end:
    if os.fork() != 0:
        os._exit(0)
    os.setsid()
    time.sleep(0.001)
"""


# Its main thread ends, another one lives on: /proc calls such a process a zombie.
HEADLESS = """
import ctypes, signal, sys, threading, time
for ignored in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(ignored, signal.SIG_IGN)
threading.Thread(target=time.sleep, args=(120,)).start()
ctypes.CDLL(None).pthread_exit(None)
"""


class Survivors(SafelaunchTest):
    """Scene m."""

    def setUp(self):
        super().setUp()
        self.pids = self.folder / "pids"
        self.pids.mkdir()
        self.addCleanup(self.end_all)

    def noted(self, what=""):
        return [int(path.name.split("-")[0]) for path in self.pids.iterdir() if path.name.endswith(what)]

    def alive(self):
        return set(processes_with(self.mark)) | {pid for pid in self.noted() if is_alive(pid)}

    def end_all(self):
        """Where the test has failed: of our own processes alone."""
        for pid in self.alive():
            os.kill(pid, signal.SIGKILL)

    def start_tree(self):
        return self.start("--clean", "off", sys.executable, self.script(TREE, "tree.py"))

    def wait_for_tree(self):
        wait_until(lambda: len(self.noted("up")) == 3, what="the tree")

    def assert_nothing_left(self):
        wait_until(lambda: not self.alive(), 30, f"the end of {self.alive()}")

    def test_nothing_is_left_when_safelaunch_is_killed_at_any_moment_of_its_life(self):
        chance = random.Random()
        for number in range(300 if SOAK else 10):
            moment = 0.8 * chance.random() ** 2
            with self.subTest(number=number, moment=moment):
                process = self.start_tree()
                time.sleep(moment)  # the moment is what is tested
                process.kill()
                process.communicate()
                self.assert_nothing_left()
                for path in self.pids.iterdir():
                    path.unlink()

    def test_nothing_is_left_when_the_supervisor_is_killed(self):
        process = self.start_tree()
        self.wait_for_tree()
        os.kill(children_of(process.pid)[0], signal.SIGKILL)
        run = self.finish(process)
        self.assertEqual(self.alive(), set(), "the guardian has ended before the job")
        self.assertEqual(run.status, -signal.SIGKILL, str(run))

    def test_nothing_is_left_when_the_launcher_is_killed(self):
        process = self.start_tree()
        self.wait_for_tree()
        os.kill(self.noted("launcher")[0], signal.SIGKILL)
        run = self.finish(process)
        self.assertEqual(self.alive(), set())
        self.assert_status(run, 128 + signal.SIGKILL)

    def test_nothing_is_left_when_the_launcher_ends_and_forgets_its_ranks(self):
        forgetful = TREE.replace("for one in ranks:\n    one.wait()", "while sum(p.name.endswith('up') for p in pathlib.Path('pids').iterdir()) < 3:\n    time.sleep(0.01)")
        run = self.run_safelaunch(sys.executable, self.script(forgetful, "tree.py"))
        self.assertEqual(self.alive(), set())
        self.assert_status(run, 0)

    def test_a_process_whose_main_thread_alone_has_ended_does_not_outlive_the_run(self):
        is_left, held = os.pipe()
        job = ('"$0" "$1" & '
               'until grep -q "State:.Z" /proc/$!/status && [ $(ls /proc/$!/task | wc -l) = 2 ]; do sleep 0.01; done')
        run = self.run_safelaunch("sh", "-c", job, sys.executable, self.script(HEADLESS, "headless.py"), pass_fds=[held])
        os.close(held)
        self.assert_status(run, 0)
        self.assertTrue(select.select([is_left], [], [], 30)[0], "who holds the pipe has outlived the run")
        os.close(is_left)

    def test_nobody_outruns_the_end(self):
        process = self.start(sys.executable, self.script(RUNNER, "runner.py"))
        self.assertEqual(process.stdout.readline(), b"running\n")
        run = self.finish(process, timeout=30)
        self.assertEqual(self.alive(), set())
        self.assert_status(run, 0)

    def test_nothing_is_left_when_torchrun_is_killed(self):
        process = self.start(*torchrun("--nproc_per_node=2", DDP, "--hang", "never-init", "--bad-rank", "1"))
        events = process.run_directory / "events.jsonl"
        wait_until(lambda: events.exists() and events.read_text().count('"imported"') >= 2, what="two ranks")
        supervisor = children_of(process.pid)[0]
        os.kill(children_of(supervisor)[0], signal.SIGKILL)
        run = self.finish(process, timeout=60)
        self.assertEqual(self.alive(), set())
        self.assert_status(run, 128 + signal.SIGKILL)


if __name__ == "__main__":
    main()
