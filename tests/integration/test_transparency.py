"""A healthy job, and a plain command that fails, run as if safelaunch were not there."""

import json
import os
import resource
import shutil
import signal
import subprocess
import sys

from harness import DDP, ROOT, SAFELAUNCH, SafelaunchTest, main, torchrun
from terminal import Terminal, shell_status

# What launchers have written about ranks that failed.
LAUNCHERS_WORDS = ROOT / "tests/data/launchers"

# What a process can know of how it was started; the environment by itself, since we do add to it.
PROBE = """
import json, os, resource, signal, sys
def ask(fd):
    return list(os.get_terminal_size(fd)) if os.isatty(fd) else None
status = dict(line.split(":\\t", 1) for line in open("/proc/self/status").read().splitlines() if ":\\t" in line)
print(json.dumps({
    "argv": sys.argv[1:], "cwd": os.getcwd(), "umask": os.umask(0), "nice": os.nice(0),
    "rlimits": {name: resource.getrlimit(getattr(resource, name)) for name in dir(resource) if name.startswith("RLIMIT_")},
    "terminals": [ask(fd) for fd in (0, 1, 2)],
    "ignored": int(status["SigIgn"], 16) & ~(1 << signal.SIGPIPE - 1 | 1 << signal.SIGXFSZ - 1),
    "blocked": status["SigBlk"], "affinity": sorted(os.sched_getaffinity(0)), "oom": open("/proc/self/oom_score_adj").read(),
    "dumpable": status.get("CoreDumping"), "no_new_privs": status["NoNewPrivs"],
}))
"""

# As tqdm and a logger write: \\r without \\n, colours, no line end at the end, both streams.
CHATTY = """
import sys, time
for i in range(30):
    sys.stderr.write(f"\\r\\x1b[32m{i:3d}%\\x1b[0m|{'#' * i}")
    sys.stderr.flush()
    print(f"step {i}", flush=True)
sys.stderr.write("\\n")
sys.stdout.buffer.write(bytes(range(256)))
sys.stdout.buffer.flush()
sys.stdout.write("no line end")
"""


class Transparency(SafelaunchTest):
    """Scene i, and the promise that nobody needs to know that we are there."""

    def bare(self, *words, **options):
        return subprocess.run(words, env=self.environment(), cwd=self.folder, timeout=120,
                              **{"stdin": subprocess.DEVNULL, "capture_output": True, **options})

    def ours(self, *words, **options):
        return self.bare(SAFELAUNCH, *words, **options)

    def assert_alike(self, *words, **options):
        bare, ours = self.bare(*words, **options), self.ours(*words, **options)
        self.assertEqual((ours.stdout, ours.stderr), (bare.stdout, bare.stderr))
        self.assertEqual(shell_status(ours.returncode), shell_status(bare.returncode))
        return ours

    def test_a_parent_that_ignores_sigchld_changes_nothing(self):
        command = ["sh", "-c", "grep SigIgn /proc/self/status; (exit 3); exit 7"]
        ignore = lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        bare = subprocess.run(command, preexec_fn=ignore, stdout=subprocess.PIPE, text=True)
        run = self.run_safelaunch("--", *command, preexec_fn=ignore, timeout=60)
        self.assert_status(run, bare.returncode)
        self.assertEqual(run.out, bare.stdout)

    def test_the_bytes_of_both_streams_are_the_same(self):
        self.assert_alike(sys.executable, self.script(CHATTY))

    def test_standard_input_reaches_the_job_byte_by_byte(self):
        everything = bytes(range(256)) * 4096
        self.assertEqual(self.assert_alike("cat", stdin=None, input=everything).stdout, everything)

    def test_joined_streams_keep_their_order(self):
        words = ["sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do echo out $i; echo err $i >&2; done"]
        self.assert_alike(*words, capture_output=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def test_exit_statuses_are_the_commands_own_and_nothing_is_said(self):
        for status in (0, 1, 2, 3, 7, 42, 64, 69, 75, 77, 78, 99, 100, 123, 124, 125, 126, 127, 128, 129, 130, 137, 143, 200, 255):
            with self.subTest(status=status):
                self.assert_alike("sh", "-c", f"exit {status}")

    def test_the_log_of_another_run_that_a_job_prints_decides_no_exit_status(self):
        for name in ("torchrun-exit3", "deepspeed-exit3", "spawn-exit3", "accelerate-zero-division"):
            shutil.copy(LAUNCHERS_WORDS / f"{name}.txt", self.folder / "old.log")
            for line, status in (("cat old.log; exit 5", 5), ("cat old.log >&2; exit 1", 1), ("cat old.log >&2; kill -9 $$", 137)):
                with self.subTest(log=name, line=line):
                    self.assertEqual(self.ours("sh", "-c", line).returncode, status)

    def test_a_rank_that_prints_the_log_of_another_run_has_its_own_exit_status(self):
        shutil.copy(LAUNCHERS_WORDS / "torchrun-exit3.txt", self.folder / "old.log")
        # torchrun makes one dollar of two.
        for line, status in (("exit 5", 5), ("cat old.log >&2; exit 6", 6), ("cat old.log; kill -9 $$$$", 137)):
            with self.subTest(line=line):
                run = self.ours(*torchrun("--nproc_per_node=1", "--no-python", "sh", "-c", line))
                self.assertEqual(run.returncode, status, run.stderr)

    def test_a_death_by_signal_is_told_as_a_shell_tells_it(self):
        for name in ("HUP", "INT", "QUIT", "ILL", "ABRT", "KILL", "SEGV", "PIPE", "ALRM", "TERM", "USR1"):
            with self.subTest(signal=name):
                self.assert_alike("sh", "-c", f"ulimit -c 0; kill -{name} $$")

    def test_a_single_process_that_fails_has_its_own_last_word(self):
        self.assert_alike(sys.executable, self.script("print('hello', flush=True)\n1 / 0\n"))
        self.assert_alike("sh", "-c", "echo broken >&2; exit 7")

    def test_a_command_that_is_not_found_or_not_executable_is_told_as_by_a_shell(self):
        self.assertEqual(self.ours("there-is-no-such-command").returncode, 127)
        (self.folder / "plain.txt").write_text("no program")
        self.assertEqual(self.ours("./plain.txt").returncode, 126)

    def test_a_healthy_distributed_job_prints_what_it_prints_without_us(self):
        words = torchrun("--nproc_per_node=2", DDP, "--steps", "2")
        self.assertEqual(self.ours(*words).stdout, self.bare(*words).stdout)

    def assert_started_alike(self, **options):
        probe = [sys.executable, self.script(PROBE, "probe.py"), "", "two words", "--nproc-per-node", "*"]
        bare, ours = self.bare(*probe, **options), self.ours(*probe, **options)
        self.assertEqual(json.loads(ours.stdout), json.loads(bare.stdout))
        return json.loads(ours.stdout)

    def test_folder_umask_limits_niceness_mask_and_arguments_are_the_same(self):
        def unusual():
            os.umask(0o027)
            os.nice(3)
            resource.setrlimit(resource.RLIMIT_NOFILE, (200, 300))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

        facts = self.assert_started_alike(preexec_fn=unusual)
        self.assertEqual((facts["umask"], facts["nice"], facts["rlimits"]["RLIMIT_NOFILE"]), (0o027, 3 + os.nice(0), [200, 300]))

    def test_signals_that_are_ignored_stay_ignored(self):
        def ignoring():
            for number in (signal.SIGHUP, signal.SIGUSR2, signal.SIGINT):
                signal.signal(number, signal.SIG_IGN)

        facts = self.assert_started_alike(preexec_fn=ignoring)
        self.assertTrue(facts["ignored"] & 1 << signal.SIGHUP - 1)

    def test_open_descriptors_of_the_shell_are_passed(self):
        reading, writing = os.pipe()
        os.set_inheritable(writing, True)
        done = self.ours("sh", "-c", f"echo through the pipe >&{writing}", pass_fds=[writing])
        os.close(writing)
        with os.fdopen(reading) as pipe:
            self.assertEqual(pipe.read(), "through the pipe\n")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_no_descriptor_of_ours_reaches_the_job(self):
        self.assert_alike("sh", "-c", "cd /proc/self/fd && echo *")

    def test_only_names_of_ours_are_added_to_the_environment(self):
        script = self.script("import json, os; print(json.dumps(dict(os.environ)))", "environment.py")
        bare, ours = (json.loads(run.stdout) for run in
                      (self.bare(sys.executable, script), self.ours(sys.executable, script)))
        changed = {name for name in bare.keys() | ours.keys() if bare.get(name) != ours.get(name)}
        for_nccl = {"NCCL_DEBUG", "NCCL_DEBUG_FILE", "NCCL_DEBUG_SUBSYS", "NCCL_DEBUG_TIMESTAMP_LEVELS",
                    "NCCL_DEBUG_TIMESTAMP_FORMAT", "NCCL_PROFILER_PLUGIN", "NCCL_RAS_ADDR", "NCCL_SOCKET_MAGIC"}
        self.assertEqual({name for name in changed if not name.startswith("SAFELAUNCH_")} - for_nccl, {"PYTHONPATH"})


class OnATerminal(SafelaunchTest):
    """The same where our streams are a terminal: progress bars, colours, the window's size."""

    def terminal(self, *words, **options):
        return Terminal(list(map(str, words)), env=self.environment(), cwd=self.folder, **options)

    def shown(self, *words, **options):
        terminal = self.terminal(*words, **options)
        status = terminal.close()
        return status, terminal.output

    def test_a_terminal_shows_the_same_bytes(self):
        job = [sys.executable, self.script(CHATTY)]
        self.assertEqual(self.shown(SAFELAUNCH, *job), self.shown(*job))

    def test_the_job_has_a_terminal_of_the_same_size(self):
        probe = [sys.executable, self.script(PROBE, "probe.py")]
        facts = []
        for words in (probe, [SAFELAUNCH, *probe]):
            status, shown = self.shown(*words, columns=123, rows=45)
            self.assertEqual(status, 0, shown)
            facts.append(json.loads(shown))
        self.assertEqual(facts[1], facts[0])
        self.assertEqual(facts[1]["terminals"], [[123, 45]] * 3)

    def test_one_redirected_stream_is_no_terminal_and_the_other_is(self):
        probe = self.script("import os, sys; print(os.isatty(1)); print(os.isatty(2), file=sys.stderr)")
        with open(self.folder / "out", "wb") as file:
            status, shown = self.shown(SAFELAUNCH, sys.executable, probe, stdout=file)
        self.assertEqual((status, shown), (0, b"True\r\n"))
        self.assertEqual((self.folder / "out").read_bytes(), b"False\n")

    def test_a_changed_window_size_reaches_the_job(self):
        terminal = self.terminal(SAFELAUNCH, sys.executable, self.script("""
import os, signal, sys
signal.signal(signal.SIGWINCH, lambda *_: print("now", *os.get_terminal_size(), flush=True))
print("ready", flush=True)
sys.stdin.readline()
"""))
        terminal.read_until(b"ready")
        terminal.resize(61, 17)
        terminal.read_until(b"now 61 17")
        terminal.type(b"end\n")
        self.assertEqual(terminal.close(), 0)

    def test_what_is_typed_reaches_the_job(self):
        terminal = self.terminal(SAFELAUNCH, sys.executable, "-c", "print('hello', input('who? '))")
        terminal.read_until(b"who? ")
        terminal.type(b"world\n")
        self.assertEqual(terminal.close(), 0)
        self.assertIn(b"hello world", terminal.output)


if __name__ == "__main__":
    main()
