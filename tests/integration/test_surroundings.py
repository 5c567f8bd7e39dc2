"""Scene i: terminals that come and go, and bare environments."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import unittest

from harness import SAFELAUNCH, SafelaunchTest, main, processes_with, torchrun, wait_until
from terminal import Terminal
from test_signals import SAVING


class Surroundings(SafelaunchTest):
    """Scene i: nohup, the background, no terminal, closed descriptors, no HOME."""

    def shell(self, line):
        return subprocess.run(["sh", "-c", line.replace("SAFELAUNCH", SAFELAUNCH)], env=self.environment(), cwd=self.folder,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)

    def assert_runs(self, line, out="trained\n"):
        run = self.shell(line)
        self.assertEqual((run.returncode, run.stdout, run.stderr), (0, out, ""))

    def test_a_command_may_make_a_process_group_of_its_own(self):
        run = self.run_safelaunch(sys.executable, "-c", "import os; os.setpgrp(); os.setpgid(0, 0)")
        self.assert_status(run, 0)

    def test_a_working_directory_that_is_gone_does_not_matter(self):
        self.assert_runs("mkdir gone; cd gone; rmdir ../gone; SAFELAUNCH echo trained")

    def test_closed_standard_streams_stay_closed_and_the_job_runs(self):
        self.assert_runs("SAFELAUNCH sh -c 'echo trained' <&-")
        self.assert_runs("SAFELAUNCH sh -c 'test ! -e /proc/self/fd/0 || ls -l /proc/self/fd/0' <&-", out="")
        self.assert_runs("SAFELAUNCH sh -c 'touch trained' >&-; cat trained", out="")
        self.assert_runs("SAFELAUNCH sh -c 'echo trained' 2>&-")
        self.assert_runs("SAFELAUNCH sh -c 'touch all-closed' <&- >&- 2>&-; ls all-closed", out="all-closed\n")

    def test_a_reader_that_leaves_does_not_end_the_training(self):
        run = self.shell("SAFELAUNCH sh -c 'seq 1000000; touch trained' | head -n 1; ls trained")
        self.assertEqual((run.returncode, run.stdout), (0, "1\ntrained\n"))
        self.assertRegex(run.stderr, r"^safelaunch: warning: \d+ bytes of the output were not shown, because nothing read them; they are in the logs: \S+\n$")

    def test_a_signal_that_was_ignored_at_the_start_reaches_a_job_that_saves_by_it(self):
        for name in ("INT", "HUP", "QUIT"):
            with self.subTest(signal=name):
                for left in self.folder.glob("*-0"):
                    left.unlink()
                line = f"trap '' INT HUP QUIT; exec {SAFELAUNCH} {sys.executable} {self.script(SAVING)}"
                job = subprocess.Popen(["sh", "-c", line], env=self.environment(), cwd=self.folder, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                wait_until((self.folder / "ready-0").exists)
                job.send_signal(getattr(signal, f"SIG{name}"))
                out, err = job.communicate(timeout=60)
                self.assertEqual((job.returncode, out, err), (0, "ready 0\n", ""))
                self.assertEqual((self.folder / "handled-0").read_text(), f"SIG{name}\n")
                self.assertTrue((self.folder / "saved-0").exists())

    def test_a_rank_that_an_ignored_signal_ends_leaves_the_others_time_to_save(self):
        """As behind `&` in a script. Rank 1 has no handler, and nobody has had a collective yet."""
        job = self.script(SAVING.replace("    signal.signal(number, note)", "    signal.signal(number, note if rank == '0' else signal.SIG_DFL)"))
        for words in (torchrun("--nproc_per_node=2", job), ["--nproc-per-node", "2", "--", sys.executable, job]):
            with self.subTest(words[0]):
                for left in self.folder.glob("*-[01]"):
                    left.unlink()
                line = f"trap '' INT; exec {SAFELAUNCH} {' '.join(words)}"
                run = subprocess.Popen(["sh", "-c", line], env=self.environment(), cwd=self.folder, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                wait_until(lambda: all((self.folder / f"ready-{rank}").exists() for rank in range(2)))
                run.send_signal(signal.SIGINT)
                _, err = run.communicate(timeout=60)
                self.assertEqual(run.returncode, 130, err)
                self.assertTrue((self.folder / "saved-0").exists(), err)
                self.assertNotIn("failed first", err)

    def test_a_torchrun_under_nohup_outlives_a_hangup(self):
        job = self.script("import os\nopen('ready', 'w').close()\nos.mkfifo('go')\nopen('go').read()\nopen('done', 'w').close()\n")
        line = f"trap '' HUP; exec {SAFELAUNCH} {' '.join(torchrun('--nproc_per_node=1', job))}"
        run = subprocess.Popen(["sh", "-c", line], env=self.environment(), cwd=self.folder, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_until((self.folder / "go").exists)
        run.send_signal(signal.SIGHUP)
        (self.folder / "go").write_text("")
        out, err = run.communicate(timeout=60)
        self.assertEqual(run.returncode, 0, err)
        self.assertTrue((self.folder / "done").exists())

    def test_a_job_under_nohup_lives_on_when_the_terminal_goes(self):
        job = self.script("import os, time\nprint('ready', flush=True)\nopen('ready', 'w').close()\n"
                          "while not os.path.exists('go'): time.sleep(0.01)\nopen('done', 'w').close()\n")
        terminal = Terminal(["bash", "-c", f"nohup {SAFELAUNCH} {sys.executable} {job}"], env=self.environment(), cwd=self.folder)
        wait_until((self.folder / "ready").exists)
        terminal.process.send_signal(signal.SIGHUP)
        os.close(terminal.master)
        (self.folder / "go").touch()
        wait_until((self.folder / "done").exists, what="the end of the training")
        self.assertEqual(terminal.process.wait(60), 0)
        wait_until(lambda: not self.still_running(), what="the end of safelaunch")

    def still_running(self):
        return processes_with(self.mark)

    def test_a_job_ends_when_its_terminal_goes(self):
        job = self.script("import time\nopen('ready', 'w').close()\ntime.sleep(600)\n")
        terminal = Terminal([SAFELAUNCH, "--grace", "3s", sys.executable, job], columns=400, env=self.environment(NO_COLOR="1"), cwd=self.folder)
        wait_until((self.folder / "ready").exists)
        os.close(terminal.master)
        terminal.process.wait(60)

    def test_in_the_background_of_a_shell_it_runs_to_the_end(self):
        shell = Terminal(["bash", "-i"], env=self.environment(PS1="", HISTFILE=""), cwd=self.folder)
        shell.type(f"{SAFELAUNCH} sh -c 'echo trai''ned; touch done' & wait; echo status $?\n".encode())
        shell.read_until(b"\r\nstatus 0")
        self.assertIn(b"trained", shell.output)
        self.assertTrue((self.folder / "done").exists())
        shell.type(b"exit\n")
        shell.close()

    def test_ctrl_z_stops_the_job_and_fg_continues_it(self):
        shell = Terminal(["bash", "-i"], env=self.environment(PS1="prompt> ", HISTFILE=""), cwd=self.folder)
        job = self.script("import os, time\nprint('rea' 'dy', flush=True)\n"
                          "while not os.path.exists('go'): time.sleep(0.01)\nprint('trai' 'ned', flush=True)\n")
        shell.type(f"{SAFELAUNCH} {sys.executable} {job}\n".encode())
        shell.read_until(b"ready")
        shell.type(b"\x1a")
        shell.read_until(b"Stopped")
        shell.type(b"fg\n")
        (self.folder / "go").touch()
        shell.read_until(b"trained")
        shell.type(b"exit\n")
        shell.close()

    def test_a_job_that_was_stopped_hears_one_sigcont_each_time(self):
        job = self.script("""import os, signal, sys
for number in signal.SIGCONT, signal.SIGUSR1: signal.signal(number, lambda number, frame: os.write(1, b"%d\\n" % number))
os.write(1, b"ready %d\\n" % os.getpid())
while True: signal.pause()
""")
        # In a group of its own: the one that it would inherit may be orphaned, and the kernel stops nothing there.
        process = subprocess.Popen([SAFELAUNCH, "--", sys.executable, job], env=self.environment(), cwd=self.folder,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, preexec_fn=os.setpgrp)
        pid = int(process.stdout.readline().split()[1])

        def is_stopped(one):
            return pathlib.Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()[0] == "T"

        for _ in range(3):
            process.send_signal(signal.SIGTSTP)
            wait_until(lambda: is_stopped(process.pid) and is_stopped(pid), what="the stop")
            process.send_signal(signal.SIGCONT)
            self.assertEqual(process.stdout.readline(), f"{signal.SIGCONT}\n")
            process.send_signal(signal.SIGUSR1)  # it comes after a second SIGCONT
            self.assertEqual(process.stdout.readline(), f"{signal.SIGUSR1}\n")
        process.terminate()
        process.communicate()
        self.assertEqual(process.returncode, 128 + signal.SIGTERM)

    def test_bare_and_read_only_homes_do_not_matter(self):
        job = self.script("print('trained')")
        bare = "unset HOME XDG_STATE_HOME XDG_CACHE_HOME XDG_RUNTIME_DIR; export TMPDIR=$PWD; "
        for name, prepare in (("no HOME", bare), ("an empty HOME", bare + "export HOME=; "),
                              ("a read-only HOME", bare + "export HOME=/sys; "),
                              ("a HOME that is not there", bare + "export HOME=/dev/null/home; "),
                              ("no TMPDIR", bare + "export HOME=$PWD; unset TMPDIR; "),
                              ("a TMPDIR that is not there", bare + "export HOME=$PWD TMPDIR=/nowhere; ")):
            with self.subTest(name):
                run = self.shell(f"{prepare} SAFELAUNCH --nproc-per-node 2 -- {sys.executable} {job}")
                self.assertEqual((run.returncode, run.stdout), (0, "trained\ntrained\n"), run.stderr)
                self.assertLessEqual(len(run.stderr.splitlines()), 2, run.stderr)

    @unittest.skipUnless(shutil.which("tmux"), "needs tmux")
    def test_in_tmux_without_a_client_it_runs_on_a_terminal(self):
        socket = str(self.folder / "tmux")
        job = self.script("import os, time\nopen('ready', 'w').close()\n"
                          "while not os.path.exists('go'): time.sleep(0.01)\nopen('done', 'w').write(str(os.isatty(1)))\n")
        tmux = ["tmux", "-S", socket, "-f", "/dev/null"]
        subprocess.run([*tmux, "new-session", "-d", f"{SAFELAUNCH} {sys.executable} {job}"], env=self.environment(),
                       cwd=self.folder, check=True)
        self.addCleanup(subprocess.run, [*tmux, "kill-server"], capture_output=True)
        wait_until((self.folder / "ready").exists)
        (self.folder / "go").touch()
        wait_until(lambda: (self.folder / "done").exists() and (self.folder / "done").read_text() == "True")
        wait_until(lambda: not self.still_running(), what="the end of tmux")


if __name__ == "__main__":
    main()
