"""What safelaunch does with files of the user: a pipe's bytes are the job's, and no FIFO is waited for."""

import os
import pathlib
import subprocess
import sys
import threading

from harness import SAFELAUNCH, SafelaunchTest, main

REFUSED = 125


class Pipes(SafelaunchTest):
    """The job reads each byte of a pipe that it is given, as without safelaunch."""

    def run_with_pipe(self, text, *words):
        """Runs the words with `{pipe}` in them made the path of a pipe that holds the text."""
        reader, writer = os.pipe()
        os.write(writer, text.encode())
        os.close(writer)
        self.addCleanup(os.close, reader)
        return self.run_safelaunch(*[word.format(pipe=f"/dev/fd/{reader}") for word in words], pass_fds=[reader])

    def test_a_script_on_stdin_runs(self):
        process = self.start("--", sys.executable, "/dev/stdin", stdin=subprocess.PIPE)
        process.stdin.write(b"print('ran')\n")
        run = self.finish(process)
        self.assert_status(run, 0)
        self.assertEqual(run.out, "ran\n")

    def test_a_script_from_a_process_substitution_runs(self):
        run = self.run_with_pipe("print('ran')\n", "--", sys.executable, "{pipe}")
        self.assertEqual(run.out, "ran\n")

    def test_an_option_file_from_a_process_substitution_is_the_launchers(self):
        launchers = {"accelerate": ["launch", "--config_file", "{pipe}", "x.py"], "deepspeed": ["--hostfile", "{pipe}", "x.py"]}
        for launcher, words in launchers.items():
            with self.subTest(launcher):
                program = self.script('#!/bin/sh\nfor word; do case $word in /dev/fd/*) cat "$word"; esac; done\n', launcher)
                run = self.run_with_pipe("localhost slots=2\n", "--no-preflight", "--", program, *words)
                self.assertEqual(run.out, "localhost slots=2\n")

    def test_a_script_that_is_a_fifo_runs(self):
        fifo = self.folder / "script.py"
        os.mkfifo(fifo)
        process = self.start("--", sys.executable, fifo)
        threading.Thread(target=fifo.write_text, args=["print('ran')\n"], daemon=True).start()
        self.assertEqual(self.finish(process).out, "ran\n")


class Fifos(SafelaunchTest):
    """A FIFO that nobody writes to, in the place of a file, is passed over."""

    def test_no_settings_file_is_waited_for(self):
        home = self.folder / "home"
        home.mkdir()
        for fifo in (home / ".nccl.conf", home / ".deepspeed_env", self.folder / ".deepspeed_env"):
            os.mkfifo(fifo)
        environment = self.environment(HOME=str(home))
        self.assert_status(self.run_safelaunch("--", "true", env=environment, timeout=60), 0)
        subprocess.run([SAFELAUNCH, "doctor"], env=environment, cwd=self.folder, stdout=subprocess.DEVNULL, timeout=60)

    def test_an_endless_file_is_no_settings_file(self):
        run = self.run_safelaunch("--", "true", env=self.environment(NCCL_CONF_FILE="/dev/zero"), timeout=60)
        self.assert_status(run, 0)


if __name__ == "__main__":
    main(needs=())
