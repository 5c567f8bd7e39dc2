"""Scene i: signals, full disks, and hostile output."""

import hashlib
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import unittest

from harness import HANGS_IN_TRAINING, SAFELAUNCH, SOAK, SafelaunchTest, main, torchrun, wait_until
from terminal import Terminal

# A rank that saves when it is told to end. It notes each call of its handler, and takes so long that
# a second one would be seen.
SAVING = """
import os, signal, sys, time
rank = os.environ.get("RANK", "0")
asked = False
def note(number, frame):
    global asked
    asked = True
    with open(f"handled-{rank}", "a") as file:
        file.write(signal.Signals(number).name + "\\n")
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
    signal.signal(number, note)
open(f"ready-{rank}", "w").close()
print("ready", rank, flush=True)
while not asked:
    time.sleep(0.01)
time.sleep(1)
open(f"saved-{rank}", "w").close()
"""

# A rank that does not want to end.
STUBBORN = """
import os, signal, sys, time
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
open(f"ready-{os.environ.get('RANK', '0')}", "w").close()
time.sleep(600)
"""

# A rank that ends at the first signal, and leaves a process that does not.
LEAVES_A_DAEMON = """
import os, subprocess, sys, time
daemon = ("import os, signal, time; [signal.signal(n, signal.SIG_IGN) for n in (1, 2, 15)]; "
          f"open('ready-{os.environ['RANK']}', 'w').close(); time.sleep(600)")
subprocess.Popen([sys.executable, "-c", daemon], start_new_session=True)
time.sleep(600)
"""

# Rank 1 never comes, and does not end when it is told to.
WAITING_FOR_RANK_1 = """
import os, signal, time, torch.distributed as dist
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.environ["RANK"] == "1" and not open("late", "w").close():
    time.sleep(600)
dist.init_process_group("gloo")
"""

# A hang in training of which nobody ends when told to.
HANGS_STUBBORNLY = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n" + HANGS_IN_TRAINING

# A launcher that goes on after USR1, and says so.
HEEDING = """
import os, signal, sys
# os.write(), since a print() that a second signal interrupts is a RuntimeError of Python.
signal.signal(signal.SIGUSR1, lambda *_: os.write(1, b"checkpoint\\n"))
signal.signal(signal.SIGUSR2, lambda *_: (os.write(1, b"told to end\\n"), sys.exit(0)))
print("ready", flush=True)
while True:
    signal.pause()
"""

# A line without an end, with NULs and broken UTF-8; then it waits to be let go.
HOSTILE = """
import sys
piece = bytes(range(10)) + bytes(range(11, 256)) + b"\\xc3\\x28\\xf0\\x9f\\x00" * 13
piece = piece * 256
for _ in range(int(sys.argv[1]) // len(piece)):
    sys.stdout.buffer.write(piece)
sys.stdout.flush()
sys.stdin.readline()
"""


def status_field(pid, name):
    return int(re.search(rf"{name}:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text()).group(1))


def family(pid):
    """Safelaunch's own two processes."""
    return [pid, int(pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])]


class Stopping(SafelaunchTest):
    """Scene i: somebody asks the job to end."""

    def ranks(self, number, text):
        return ["--nproc-per-node", str(number), "--", sys.executable, self.script(text)]

    def wait_for_ranks(self, number):
        wait_until(lambda: len(list(self.folder.glob("ready-*"))) == number, what="the ranks")

    def assert_handled_once(self, ranks, name):
        for rank in range(ranks):
            self.assertEqual((self.folder / f"handled-{rank}").read_text(), f"{name}\n")
            self.assertTrue((self.folder / f"saved-{rank}").exists(), "it was not given the time to save")

    def in_terminal(self, *words):
        return Terminal([SAFELAUNCH, *map(str, words)], columns=400, env=self.environment(NO_COLOR="1"), cwd=self.folder)

    def test_ctrl_c_calls_each_ranks_handler_once_and_gives_it_time(self):
        terminal = self.in_terminal(*self.ranks(2, SAVING))
        self.wait_for_ranks(2)
        terminal.press_ctrl_c()
        self.assertEqual(terminal.close(), 0)
        self.assert_handled_once(2, "SIGINT")

    def test_ctrl_c_under_torchrun_calls_each_ranks_handler_once(self):
        terminal = self.in_terminal(*torchrun("--nproc_per_node=2", self.script(SAVING)))
        self.wait_for_ranks(2)
        terminal.press_ctrl_c()
        self.assertNotEqual(terminal.close(), 0)
        self.assert_handled_once(2, "SIGINT")

    def test_ctrl_c_reaches_what_a_shell_script_runs(self):
        job = self.script(SAVING)
        launch = self.script(f"#!/bin/bash\n{sys.executable} {job}\necho after\n", "launch.sh")
        terminal = self.in_terminal(launch)
        self.wait_for_ranks(1)
        terminal.press_ctrl_c()
        terminal.close(60)
        self.assert_handled_once(1, "SIGINT")

    def test_ctrl_c_twice_ends_all_at_once(self):
        terminal = self.in_terminal("--run-dir", self.folder / "run", "--grace", "100s", *self.ranks(2, STUBBORN))
        self.wait_for_ranks(2)
        began = time.monotonic()
        terminal.press_ctrl_c()
        # As a person's fingers: two signals of one kind that wait at the same time are one.
        wait_until(lambda: '"signal"' in (self.folder / "run" / "events.jsonl").read_text(), what="the first Ctrl-C")
        terminal.press_ctrl_c()
        status = terminal.close()
        self.assertLess(time.monotonic() - began, 50)
        self.assertEqual(status, 128 + signal.SIGINT)  # that KILL ended the ranks was our doing

    def test_after_ctrl_c_a_job_that_takes_its_time_is_explained(self):
        terminal = self.in_terminal("--grace", "100s", *self.ranks(2, STUBBORN))
        self.wait_for_ranks(2)
        terminal.press_ctrl_c()
        terminal.read_until(b"SIGINT: stopping; the ranks get 100s to save (--grace). A second one kills them now")
        terminal.press_ctrl_c()
        self.assertEqual(terminal.close(), 128 + signal.SIGINT)

    def test_term_calls_each_ranks_handler_once_under_torchrun(self):
        process = self.start(*torchrun("--nproc_per_node=2", self.script(SAVING)))
        self.wait_for_ranks(2)
        process.terminate()
        run = self.finish(process)
        self.assert_handled_once(2, "SIGTERM")
        self.assertNotEqual(run.status, 0, str(run))
        self.assertEqual(len(run.attempts), 1, "a job that was told to end is not started again")
        self.assertEqual(run.attempts[0]["end"], "interrupted")

    def test_ctrl_c_while_ranks_wait_tells_who_is_missing_and_where(self):
        terminal = self.in_terminal("--grace", "100s", "--run-dir", self.folder / "run", *self.ranks(2, WAITING_FOR_RANK_1))
        events = self.folder / "run" / "events.jsonl"
        wait_until(lambda: events.exists() and "waiting for rank 1" in events.read_text(), what="a rank that waits")
        wait_until((self.folder / "late").exists, what="the rank that is late")
        terminal.press_ctrl_c()
        terminal.read_until(b"safelaunch: stopping; the ranks get 100s to save (--grace). Ctrl-C again kills them now")
        self.assertRegex(terminal.output, rb"safelaunch: SIGINT: rank 0 has waited \d+\w* in group for rank 1( \(.*\))?, in job.py:5 <module>")
        terminal.press_ctrl_c()
        terminal.close()

    def hang_in_training(self, text, *options):
        """A terminal in which rank 1 stays away from the collective that rank 0 waits in."""
        terminal = self.in_terminal(*options, "--run-dir", self.folder / "run", *self.ranks(2, text))
        events = self.folder / "run" / "events.jsonl"
        wait_until((self.folder / "late").exists, what="the rank that is late")
        wait_until(lambda: '"training"' in events.read_text(), what="the training")
        return terminal

    def assert_told_where_ranks_stood(self, terminal):
        self.assertRegex(terminal.output, rb"safelaunch: SIGINT came to rank 0 in job.py:\d+ <module>.*; rank 1 in job.py:\d+ loads_data")

    def test_ctrl_c_on_a_hang_in_training_tells_where_each_rank_stood(self):
        terminal = self.hang_in_training(HANGS_STUBBORNLY, "--grace", "100s")
        terminal.press_ctrl_c()
        terminal.read_until(b"safelaunch: SIGINT: stopping; the ranks get 100s to save (--grace)")
        self.assert_told_where_ranks_stood(terminal)
        terminal.press_ctrl_c()
        terminal.close()

    def test_a_hang_in_training_that_ctrl_c_ends_at_once_is_told_at_its_end(self):
        terminal = self.hang_in_training(HANGS_IN_TRAINING)
        terminal.press_ctrl_c()
        self.assertEqual(terminal.close(), 128 + signal.SIGINT)
        self.assert_told_where_ranks_stood(terminal)
        self.assertEqual(terminal.output.count(b"SIGINT came to"), 1)

    def test_ctrl_c_after_a_verdict_starts_no_other_attempt(self):
        job = self.start("--init-timeout", "1s", "--quiet-timeout", "1s", *self.ranks(2, WAITING_FOR_RANK_1))
        events = job.run_directory / "events.jsonl"
        wait_until(lambda: events.exists() and '"verdict"' in events.read_text(), what="the verdict")
        job.send_signal(signal.SIGINT)
        run = self.finish(job)
        after = [event["e"] for event in run.events]
        after = after[after.index("signal"):] if "signal" in after else []  # where it came between two attempts
        self.assertNotIn("attempt", after, str(run))
        self.assertEqual(run.status, 128 + signal.SIGINT, str(run))
        self.assertIn("safelaunch was told to stop" if after else "interrupted by SIGINT", run.err)

    def test_torchrun_has_the_time_to_tell_of_the_ranks_it_kills(self):
        process = self.start("--grace", "2s", *torchrun("--nproc_per_node=2", self.script(STUBBORN)))
        self.wait_for_ranks(2)
        process.terminate()
        run = self.finish(process)
        self.assertIn("got signal: 15", run.err)
        self.assert_status(run, 128 + signal.SIGTERM)

    def test_a_status_that_a_rank_chooses_after_a_signal_comes_through_torchrun(self):
        process = self.start(*torchrun("--nproc_per_node=2", self.script(SAVING + "sys.exit(85 if rank == '1' else 0)\n")))
        self.wait_for_ranks(2)
        process.terminate()
        self.assert_status(self.finish(process), 85)

    def test_a_daemon_that_ignores_term_does_not_outlive_its_ranks_by_the_grace(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with self.subTest(signal=number.name):
                process = self.start("--grace", "100s", *self.ranks(2, LEAVES_A_DAEMON))
                self.wait_for_ranks(2)
                told = time.monotonic()
                process.send_signal(number)
                run = self.finish(process)
                self.assertLess(time.monotonic() - told, 60, str(run))
                self.assert_status(run, 128 + number)
                for path in self.folder.glob("ready-*"):
                    path.unlink()

    def test_the_reader_of_a_scripts_own_output_ends_by_itself(self):
        run = self.run_safelaunch("bash", "-c", "exec > >(sleep 2; cat > log); echo first; seq 1000")  # twice the time of leftovers
        self.assertEqual((run.status, run.out, run.err), (0, "", ""))
        self.assertEqual((self.folder / "log").read_text().splitlines(), ["first", *map(str, range(1, 1001))])

    def test_each_signal_that_ends_a_job_reaches_its_ranks_once(self):
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGINT):
            with self.subTest(signal=number.name):
                process = self.start(*self.ranks(2, SAVING))
                self.wait_for_ranks(2)
                process.send_signal(number)
                run = self.finish(process)
                self.assert_handled_once(2, number.name)
                self.assert_status(run, 0)
                for path in [*self.folder.glob("ready-*"), *self.folder.glob("handled-*"), *self.folder.glob("saved-*")]:
                    path.unlink()

    def test_a_reader_of_the_output_that_does_not_read_keeps_nobody_from_the_end(self):
        reader, writer = os.pipe()
        process = self.start("--", "sh", "-c", "touch ready-0; exec seq 30000000", stdout=writer)
        os.close(writer)
        self.addCleanup(os.close, reader)
        self.wait_for_ranks(1)
        process.terminate()
        run = self.finish(process, timeout=60)
        self.assert_status(run, 128 + signal.SIGTERM)

    def test_who_ignores_term_is_killed_when_the_grace_is_over(self):
        process = self.start("--grace", "2s", *self.ranks(2, STUBBORN))
        self.wait_for_ranks(2)
        told = time.monotonic()
        process.terminate()
        run = self.finish(process)
        self.assertGreater(time.monotonic() - told, 1.9, "the grace was cut")
        self.assertLess(time.monotonic() - told, 60)
        self.assert_status(run, 128 + signal.SIGTERM)

    def test_usr1_reaches_the_command_and_ends_nothing(self):
        process = self.start(sys.executable, self.script(HEEDING))
        self.assertEqual(process.stdout.readline(), b"ready\n")
        for _ in range(3):
            process.send_signal(signal.SIGUSR1)
            self.assertEqual(process.stdout.readline(), b"checkpoint\n")
        process.send_signal(signal.SIGUSR2)
        run = self.finish(process)
        self.assertEqual((run.status, run.out, run.err), (0, "told to end\n", ""))


class Output(SafelaunchTest):
    """Scene i: a hostile line, and a disk that is full."""

    def test_a_huge_line_passes_byte_by_byte_in_little_memory(self):
        size = (1 << 30) if SOAK else (64 << 20)
        job = [sys.executable, self.script(HOSTILE), str(size)]
        bare = subprocess.run(job, stdin=subprocess.DEVNULL, capture_output=True, check=True).stdout
        wanted = hashlib.sha256(bare).hexdigest()
        process = self.start(*job, stdin=subprocess.PIPE)
        seen, left = hashlib.sha256(), len(bare)
        while left:
            piece = process.stdout.read1(min(left, 1 << 20))
            self.assertTrue(piece, "it ended too early")
            seen.update(piece)
            left -= len(piece)
        peaks = [status_field(pid, "VmHWM") for pid in family(process.pid)]
        process.stdin.write(b"\n")
        process.stdin.close()
        process.stdin = None
        run = self.finish(process)
        self.assertEqual((run.status, run.out, run.err), (0, "", ""))
        self.assertEqual(seen.hexdigest(), wanted)
        recorded = hashlib.sha256(next(run.directory.glob("attempt-1-*/launcher.out")).read_bytes())
        self.assertEqual(recorded.hexdigest(), wanted)
        # Under a sanitizer all is bigger; a line that was kept would be bigger still.
        self.assertLess(max(peaks), 40 << 10, f"kB, of a line of {size >> 10}")

    def test_a_huge_line_of_a_rank_with_a_prefix_takes_little_memory_too(self):
        words = ["--prefix", "--nproc-per-node", "2", "--", sys.executable, self.script(HOSTILE), str(16 << 20)]
        process = self.start(*words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        amount = 0
        while amount < 30 << 20:
            amount += len(process.stdout.read1(1 << 20))
        peaks = [status_field(pid, "VmHWM") for pid in family(process.pid)]
        process.stdin.close()
        process.stdin = None
        run = self.finish(process)
        self.assert_status(run, 0)
        self.assertLess(max(peaks), 40 << 10)

    def full_disk(self):
        disk = self.folder / "disk"
        disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(disk)], capture_output=True)
        if mounted.returncode != 0:
            raise unittest.SkipTest("needs a root that may mount")
        self.addCleanup(subprocess.run, ["umount", str(disk)], check=True)
        return disk

    def assert_goes_on_with_a_full_disk(self, option, also_lost=b""):
        disk = self.full_disk()
        words = [SAFELAUNCH, option, str(disk / "here"), "sh", "-c", "head -c 1000000 /dev/zero; echo trained"]
        run = subprocess.run(words, env=self.environment(), cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(run.stdout, bytes(1000000) + b"trained\n")
        self.assertIn(b"No space left on device; the job goes on", run.stderr)
        self.assertIn(also_lost, run.stderr)
        self.assertEqual(run.stderr.count(b"No space left"), 2 if also_lost else 1, run.stderr)

    def test_a_full_log_disk_stops_the_recording_and_not_the_training(self):
        self.assert_goes_on_with_a_full_disk("--log-dir")

    def test_a_full_disk_under_the_run_directory_stops_the_recording_and_not_the_training(self):
        self.assert_goes_on_with_a_full_disk("--run-dir", also_lost=b"how this run ended is not recorded: No space left on device")

    def test_a_full_disk_under_stdout_fails_the_run_and_tells_the_true_reason(self):
        with open("/dev/full", "wb") as full:
            for words, status in (["echo trained"], 74), (["echo trained; exit 3"], 3), (["true"], 0):
                run = subprocess.run([SAFELAUNCH, "sh", "-c", *words], env=self.environment(), cwd=self.folder, stdout=full,
                                     stderr=subprocess.PIPE, text=True)
                self.assertEqual(run.returncode, status, run.stderr)
                self.assertEqual("8 bytes of the output were not written: No space left on device; they are in the logs: " in run.stderr,
                                 words != ["true"], run.stderr)

    def test_the_loss_of_the_logs_of_a_short_job_is_told(self):
        disk = self.full_disk()
        (disk / "fill").write_bytes(bytes(120 * 1024))
        for _ in range(5):
            words = [SAFELAUNCH, "--log-dir", str(disk), "sh", "-c", "head -c 50000 /dev/zero"]
            run = subprocess.run(words, env=self.environment(), cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertRegex(run.stderr, r"launcher\.out is not complete: No space left on device")

    def test_a_log_directory_that_cannot_be_made_or_written_is_refused_before_anything_runs(self):
        for folder in ("/proc/x", "/proc/self"):
            words = [SAFELAUNCH, "--log-dir", folder, "echo", "trained"]
            run = subprocess.run(words, env=self.environment(), capture_output=True, text=True)
            self.assertEqual((run.returncode, run.stdout), (125, ""))
            self.assertIn(f"--log-dir {folder}: cannot be made or written", run.stderr)

    def test_a_run_directory_that_was_named_and_cannot_be_made_is_refused_before_anything_runs(self):
        (self.folder / "file").touch()
        folder = str(self.folder / "file" / "below")
        words = [SAFELAUNCH, "--run-dir", folder, "echo", "trained"]
        run = subprocess.run(words, env=self.environment(), capture_output=True, text=True)
        self.assertEqual((run.returncode, run.stdout), (125, ""))
        self.assertIn(folder, run.stderr)


if __name__ == "__main__":
    main()
