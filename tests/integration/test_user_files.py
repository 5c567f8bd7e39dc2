"""What safelaunch does with files of the user: a pipe's bytes are the job's, and no FIFO is waited for."""

import os
import resource
import subprocess
import sys
import threading
import unittest

from harness import SAFELAUNCH, SafelaunchTest, main


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

    def test_no_log_and_no_record_is_waited_for(self):
        for option, name in (("--log-dir", "launcher.out"), ("--run-dir", "events.jsonl")):
            with self.subTest(option):
                folder = self.folder / option
                folder.mkdir()
                os.mkfifo(folder / name)
                run = self.run_safelaunch(option, folder, "--", "echo", "ran", timeout=60)
                self.assert_status(run, 0)
                self.assertEqual(run.out, "ran\n")

    def test_an_endless_file_is_no_settings_file(self):
        run = self.run_safelaunch("--", "true", env=self.environment(NCCL_CONF_FILE="/dev/zero"), timeout=60)
        self.assert_status(run, 0)


@unittest.skipUnless(os.getuid() == 0, "only root can be two users")
class Neighbours(SafelaunchTest):
    """What another user has put in our way is not used, and nothing of his runs."""

    ALICE, MALLORY = 4001, 4002

    def setUp(self):
        super().setUp()
        self.folder.chmod(0o755)
        self.shared = self.folder / "tmp"
        self.shared.mkdir()
        self.shared.chmod(0o1777)

    def folder_of(self, uid, *names, mode=0o700):
        path = self.folder.joinpath(*names)
        path.mkdir(mode=mode, parents=True)
        path.chmod(mode)
        os.chown(path, uid, uid)
        return path

    def as_alice(self, *words, env):
        command = ["setpriv", f"--reuid={self.ALICE}", f"--regid={self.ALICE}", "--clear-groups", self.program_for_all(), *words]
        return subprocess.run(command, env={"PATH": "/usr/bin:/bin", "TMPDIR": str(self.shared), **env}, cwd=self.shared,
                              capture_output=True, text=True, timeout=60)

    def test_a_run_directory_that_a_neighbour_made_before_is_not_used(self):
        runs = self.folder_of(self.MALLORY, "tmp", f"safelaunch-{self.ALICE}", "runs", mode=0o777)
        os.chown(runs.parent, self.MALLORY, self.MALLORY)
        done = self.as_alice("--", "sh", "-c", "echo path: $PYTHONPATH", env={})
        self.assertEqual(done.stdout, "path:\n")
        self.assertEqual(list(runs.iterdir()), [])
        self.assertIn(f"{runs.parent} belongs to uid {self.MALLORY}", done.stderr)

    def test_a_cache_below_a_folder_of_all_holds_no_hook(self):
        home = self.folder_of(self.ALICE, "home")
        cache = self.folder_of(self.MALLORY, "open", mode=0o777)
        done = self.as_alice("--", "sh", "-c", "echo path: $PYTHONPATH", env={"HOME": str(home), "XDG_CACHE_HOME": str(cache)})
        self.assertNotIn(str(cache), done.stdout)
        self.assertIn(str(home), done.stdout)  # in the run directory, which is hers alone
        self.assertEqual(list(cache.iterdir()), [])

    def test_without_a_home_the_run_is_kept_in_the_folder_of_all(self):
        done = self.as_alice("--", "sh", "-c", "echo $PYTHONPATH", env={})
        self.assertIn(str(self.shared / f"safelaunch-{self.ALICE}" / "runs"), done.stdout)
        self.assertEqual(done.stderr, "")

    def test_what_is_made_is_private(self):
        home = self.folder_of(self.ALICE, "home")
        logs = home / "logs"
        done = self.as_alice("--log-dir", logs, "--", "echo", "ran", env={"HOME": str(home)})
        self.assertEqual(done.stdout, "ran\n")
        made = [path for path in home.rglob("*") if not path.is_symlink()]
        self.assertIn(logs / "launcher.out", made)
        for path in made:
            self.assertEqual(path.stat().st_mode & 0o077 if ".cache" not in path.parts else 0, 0, path)

    def test_the_page_is_written_through_no_file_of_a_neighbour(self):
        home = self.folder_of(self.ALICE, "home")
        self.as_alice("--", "true", env={"HOME": str(home)})
        page = self.shared / "page.html"
        os.mkfifo(f"{page}.new")
        self.assertEqual(self.as_alice("report", "--html", page, env={"HOME": str(home)}).returncode, 0)
        self.assertEqual((page.stat().st_uid, page.stat().st_mode & 0o777), (self.ALICE, 0o600))
        self.assertEqual(self.as_alice("report", "--html", page, env={"HOME": str(home)}).returncode, 0)
        other = self.shared / "train.py"
        other.write_text("import torch\n")
        os.chown(other, self.ALICE, self.ALICE)
        refused = self.as_alice("report", "--html", other, env={"HOME": str(home)})
        self.assertEqual((refused.returncode, other.read_text()), (64, "import torch\n"))
        self.assertIn("it was left as it is", refused.stderr)


class Surroundings(SafelaunchTest):
    """What the job gets from around it is what it would get without safelaunch."""

    def test_relative_xdg_folders_are_ignored(self):
        run = self.run_safelaunch("--", "sh", "-c", "echo $PYTHONPATH", env=self.environment(XDG_CACHE_HOME="ca"))
        self.assertTrue(run.out.startswith("/"), str(run))
        self.assertFalse((self.folder / "ca").exists())

    def filling_all_but(self, left, environment):
        """A command that takes all the room for arguments and variables but so many bytes. With a small stack there is little."""
        limits = resource.getrlimit(resource.RLIMIT_STACK)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_STACK, limits)
        resource.setrlimit(resource.RLIMIT_STACK, (1 << 20, limits[1]))
        room = min(os.sysconf("SC_ARG_MAX"), 6 << 20) - left
        words = [sys.executable, "-c", "print('ran')"]
        taken = sum(len(word) + 9 for word in words) + sum(len(k) + len(v) + 10 for k, v in environment.items())
        while room - taken > 20_000:
            words.append("x" * 10_000)
            taken += 10_009
        return [*words, "x" * (room - taken - 9)]

    def test_a_command_that_fills_all_the_room_for_arguments_starts(self):
        environment = self.environment()
        words = self.filling_all_but(400, environment)
        bare = subprocess.run(words, env=environment, capture_output=True, text=True)
        self.assertEqual(bare.stdout, "ran\n")
        guarded = subprocess.run([SAFELAUNCH, *words], env=environment, capture_output=True, text=True, timeout=60)
        self.assertEqual((guarded.returncode, guarded.stdout), (0, "ran\n"), guarded.stderr[-300:])
        self.assertIn("without safelaunch's variables", guarded.stderr)

    def test_workers_that_leave_room_for_their_rank_and_no_more_start(self):
        environment = self.environment()
        words = self.filling_all_but(2000, environment)
        run = subprocess.run([SAFELAUNCH, "--nproc-per-node", "2", "--", *words], env=environment, capture_output=True, text=True, timeout=60)
        self.assertEqual((run.returncode, run.stdout), (0, "ran\nran\n"), run.stderr[-300:])
        self.assertIn("without safelaunch's variables", run.stderr)

    def test_the_plugin_of_a_safelaunch_around_is_not_the_users(self):
        run = self.run_safelaunch("--nproc-per-node", "1", SAFELAUNCH, "--nproc-per-node", "1", "--", "true")
        self.assert_status(run, 0)
        self.assertNotIn("plugin stays away", run.err)

    def test_the_working_directory_decides_nothing_in_silence(self):
        profiles = self.folder / "profiles"
        profiles.mkdir()
        (profiles / "basic.yaml").write_text("env: {LD_PRELOAD: /none.so}\n")
        (profiles / "basic.yaml").chmod(0o600)
        self.script("env: {NCCL_DEBUG: WARN}\n", "safelaunch.yaml")
        run = self.run_safelaunch("--", "sh", "-c", "echo $LD_PRELOAD $NCCL_DEBUG")
        self.assertEqual(run.out, "WARN\n")
        self.assertIn("note: settings from ./safelaunch.yaml", run.err)
        self.assertIn("profiles/basic.yaml", run.err)
        self.script("env: {LD_PRELOAD: /none.so}\n", "safelaunch.yaml")
        self.assertEqual(self.run_safelaunch("--", "sh", "-c", "echo $LD_PRELOAD").out, "\n")

    def test_a_file_that_nobody_named_does_not_say_where_the_job_meets(self):
        for option in ("{master-addr: 192.0.2.1, nnodes: 2, node-rank: 1, nproc-per-node: 1, no-preflight: true, rendezvous: none}",
                       "{rendezvous: 'tcp://192.0.2.1:4444', nnodes: 2}", "{token-file: ./tok}", "{dry-run: true}"):
            with self.subTest(option):
                self.script(f"options: {option}\n", "safelaunch.yaml")
                run = self.run_safelaunch("--", "sh", "-c", "echo ran at ${MASTER_ADDR-none}")
                self.assertEqual((run.out, run.status), ("ran at none\n", 0), run.err)
                self.assertIn("./safelaunch.yaml is passed over: it sets the option ", run.err)

    def test_explain_shows_a_foreign_log_without_its_secrets(self):
        secret = "hf_tHe5eCretOfSomebody1234567890abc"
        log = f"RuntimeError: CUDA error: out of memory, as {secret}\n"
        done = subprocess.run([SAFELAUNCH, "explain", "-"], env=self.environment(), input=log, text=True, capture_output=True, timeout=60)
        self.assertIn("out of memory, as [redacted]", done.stdout)
        self.assertNotIn(secret, done.stdout)

    def test_no_refusal_of_a_run_sends_escape_sequences_to_the_terminal(self):
        word = "x\x1b]0;title\x07\u202e"
        nodes = ["--nnodes", "2", "--node-rank", "0", "--nproc-per-node", "1", "--master-addr", "127.0.0.1"]
        for words, status in ((["--", word], 127), (["--log-dir", f"/proc/{word}", "--", "true"], 125),
                              (["--run-dir", f"/proc/{word}", "--", "true"], 125), ([*nodes, "--token-file", word, "--", "true"], 78)):
            with self.subTest(words):
                done = subprocess.run([SAFELAUNCH, *words], env=self.environment(), cwd=self.folder, capture_output=True, timeout=60)
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertNotIn(b"\x1b", done.stderr)
                self.assertNotIn("\u202e".encode(), done.stderr)
                self.assertIn(b"^[]0;title^G", done.stderr)

    def test_the_closing_report_turns_no_reading_direction(self):
        raises = "import os, time; time.sleep(0 if os.environ['RANK'] == '1' else 60); raise ValueError('be\u202efore')"
        run = self.run_safelaunch("--nproc-per-node", "2", "--", sys.executable, "-c", raises)
        self.assert_status(run, 1)
        own = run.err[run.err.index("safelaunch: failed"):]
        self.assertIn("ValueError: be<U+202E>fore", own)
        self.assertNotIn("\u202e", own)

    def test_no_verb_sends_foreign_escape_sequences_to_the_terminal(self):
        log = "NCCL WARN \x1b]0;title\x07\x1b[2J No space left on device (28) /dev/shm/nccl-vR6Fzi\x9b2J\u202e\n"
        done = subprocess.run([SAFELAUNCH, "explain", "-"], env=self.environment(), input=log.encode(), capture_output=True, timeout=60)
        (self.folder / ".deepspeed_env").write_text("NCCL_DEBUG=\x1b]0;title\x07\x1b[2J\u009b\n")
        doctor = subprocess.run([SAFELAUNCH, "doctor"], env=self.environment(), cwd=self.folder, capture_output=True, timeout=60)
        for shown in (done.stdout, doctor.stdout):
            for sequence in (b"\x1b]", b"\x1b[2J", b"\xc2\x9b", "\u202e".encode()):
                self.assertNotIn(sequence, shown)


if __name__ == "__main__":
    main(needs=())
