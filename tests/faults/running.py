"""Runs one command of the bench: its environment, what it says, what it leaves behind, and whom it harms."""

import contextlib
import fcntl
import os
import pathlib
import signal
import subprocess
import sys
import termios
import threading
import time
import uuid

from workbench import harness

GIVEN_UP_AFTER = 120  # seconds; --give-up-after


class Bystanders:
    """What must be there afterwards as it was before: another job's process, and a file that looks like NCCL's."""

    def __init__(self, environment):
        look = {**environment, "RANK": "1", "LOCAL_RANK": "1", "WORLD_SIZE": "2", "MASTER_PORT": "29500"}
        look.pop("SAFELAUNCH_TEST_MARK", None)
        self.process = subprocess.Popen([sys.executable, "-c", "input()", "examples/ddp/train.py"], env=look,
                                        stdin=subprocess.PIPE, start_new_session=True)
        self.file = pathlib.Path("/dev/shm", f"nccl-{uuid.uuid4().hex[:6]}")
        self.file.write_bytes(b"x")
        self.open_file = self.file.open()  # a fault may put another file system over the folder
        self.folder = os.open(self.file.parent, os.O_PATH | os.O_DIRECTORY)

    def harm(self):
        found = [] if self.process.poll() is None else ["a bystander was ended"]
        return found + (["a bystander's file was deleted"] if self.harm_to_file() else [])

    def harm_to_file(self):
        return os.fstat(self.open_file.fileno()).st_nlink == 0

    def clear(self):
        self.process.kill()
        self.process.communicate()
        if not self.harm_to_file():
            os.unlink(self.file.name, dir_fd=self.folder)
        self.open_file.close()
        os.close(self.folder)


class Person:
    """Sits at a terminal, and types an answer some seconds after the words that ask for it."""

    def __init__(self, asks, seconds, answer, output):
        self.asks, self.seconds, self.answer, self.output = asks, seconds, answer, output
        self.keyboard, self.terminal = os.openpty()
        silent = termios.tcgetattr(self.terminal)
        silent[3] &= ~termios.ECHO
        termios.tcsetattr(self.terminal, termios.TCSANOW, silent)
        self.leaves = threading.Event()
        self.thread = threading.Thread(target=self._answer)
        self.thread.start()

    def take_the_terminal(self):
        """In the child, which leads a session: the terminal is the session's."""
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    def _answer(self):
        while self.asks not in self.output.read_text(errors="replace"):
            if self.leaves.wait(0.05):
                return
        if not self.leaves.wait(self.seconds):
            os.write(self.keyboard, self.answer.encode())

    def leave(self):
        self.leaves.set()
        self.thread.join()
        os.close(self.keyboard)
        os.close(self.terminal)


def run_command(words, bench, person=None):
    """Status, output, time; a job that does not end is ended. A person is (words that ask, seconds, answer)."""
    out, err = bench.record / "out", bench.record / "err"
    out.touch()
    sits = Person(*person, out) if person else None
    began = time.monotonic()
    with out.open("w") as to, err.open("w") as errors:
        process = subprocess.Popen(words, env=bench.env, cwd=bench.folder, stdin=sits.terminal if sits else subprocess.DEVNULL, stdout=to,
                                   stderr=errors, start_new_session=True, preexec_fn=sits.take_the_terminal if sits else None)
    try:
        status = process.wait(timeout=GIVEN_UP_AFTER)
    except subprocess.TimeoutExpired:
        status = "silent"
        os.killpg(process.pid, signal.SIGKILL)
        end_survivors(bench.env["SAFELAUNCH_TEST_MARK"])
        process.wait()
    if sits:
        sits.leave()
    return {"status": status, "out": out.read_text(errors="replace"), "err": err.read_text(errors="replace"),
            "seconds": time.monotonic() - began}


def end_survivors(mark):
    left = harness.processes_with(mark)
    for pid in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return left
