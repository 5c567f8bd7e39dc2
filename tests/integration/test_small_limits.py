"""Closed streams and tiny limits: the job is as without safelaunch, or one line says why nothing was started."""

import os
import resource
import shutil
import subprocess
import unittest

from harness import SAFELAUNCH, SafelaunchTest, main

NOT_STARTED = 125

# How the standard streams may come, as a shell writes it, and what the job makes of them.
CLOSED = ("<&-", ">&-", "2>&-", "<&- >&-", ">&- 2>&-", "<&- >&- 2>&-", "1</dev/null", "2</dev/null >&-")
TRIES = """
for fd in 0 1 2; do [ -e /proc/self/fd/$fd ] && echo "$fd open" || echo "$fd closed"; done >found
echo to stdout; echo "stdout $?" >>found
echo to stderr >&2; echo "stderr $?" >>found
python3 -c 'import sys; print([s and s.fileno() for s in (sys.stdin, sys.stdout, sys.stderr)], file=open("found", "a"))'
python3 -c 'import os; print([os.path.exists("/proc/self/fd/%d" % fd) for fd in range(3)], file=open("found", "a"))'
exit 3
"""


class ClosedStreams(SafelaunchTest):
    def outcome(self, streams, *before):
        """What comes of a job whose streams are like that: its status, what it saw, and what others saw of it."""
        job = self.script(TRIES, "tries.sh")
        run = subprocess.run(["sh", "-c", f'"$@" {streams}', "sh", *before, "sh", job], stdin=subprocess.DEVNULL, capture_output=True,
                             text=True, cwd=self.folder, env=self.environment(), timeout=120)
        return run.returncode, (self.folder / "found").read_text(), run.stdout, run.stderr

    def test_a_job_finds_its_streams_closed_as_they_came(self):
        for streams in CLOSED:
            with self.subTest(streams=streams):
                self.assertEqual(self.outcome(streams, SAFELAUNCH), self.outcome(streams))

    def test_ranks_of_our_own_find_their_streams_closed_too(self):
        for streams in (">&-", ">&- 2>&-"):
            with self.subTest(streams=streams):
                ours = self.outcome(streams, SAFELAUNCH, "--nproc-per-node", "1", "--")
                self.assertEqual(ours[:3], self.outcome(streams)[:3])


class SmallLimits(SafelaunchTest):
    """With each limit the job says its word and ends with its own status, or nothing was started and one line says why."""

    def under(self, limit, value, *words):
        return subprocess.run(words, preexec_fn=lambda: resource.setrlimit(limit, (value, value)), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, cwd=self.folder, env=self.environment(), timeout=120)

    def assert_alike_or_refused(self, limit, value, option, because):
        words = ("sh", "-c", "echo said; exit 7")
        ours = self.under(limit, value, SAFELAUNCH, *words)
        if ours.returncode == NOT_STARTED:
            self.assertEqual(ours.stdout, "")
            self.assertRegex(ours.stderr, rf"\Asafelaunch: .*ulimit -{option} \d+ leaves safelaunch no room: it needs {because}.*\n\Z")
            return "refused"
        bare = self.under(limit, value, *words)
        self.assertEqual((ours.returncode, ours.stdout), (bare.returncode, bare.stdout), ours.stderr)
        self.assertNotIn("itself failed", ours.stderr)
        return "alike"

    def assert_each(self, limit, values, option, because):
        """The first value is too small, the last is not."""
        found = []
        for value in values:
            with self.subTest(limit=f"ulimit -{option}", value=value):
                found.append(self.assert_alike_or_refused(limit, value, option, because))
        self.assertEqual((found[0], found[-1]), ("refused", "alike"))

    def test_open_files(self):
        self.assert_each(resource.RLIMIT_NOFILE, (4, 8, 12, *range(16, 26), 32, 64), "n", r"\d+ more open files")

    def test_the_stack(self):
        self.assert_each(resource.RLIMIT_STACK, (64 << 10, 128 << 10, 256 << 10, 1 << 20), "s", "128 KiB")

    def test_data(self):
        self.assert_each(resource.RLIMIT_DATA, (4 << 20, 16 << 20, 64 << 20, 256 << 20), "d", "24 MiB more")

    def test_address_space(self):
        # The kernel ends a program that the limit cannot hold, before its first word.
        begins = [megabytes << 20 for megabytes in (*range(8, 64, 4), 256)
                  if self.under(resource.RLIMIT_AS, megabytes << 20, SAFELAUNCH, "--version").returncode == 0]
        self.assert_each(resource.RLIMIT_AS, begins, "v", "24 MiB more")

    def test_the_size_of_files(self):
        for value in (0, 512, 1 << 20):
            with self.subTest(value=value):
                self.assertEqual(self.assert_alike_or_refused(resource.RLIMIT_FSIZE, value, "f", ""), "alike")

    def test_processes(self):
        if os.geteuid() != 0:
            self.skipTest("another user's limit, whose processes are known, needs root")
        program = self.program_for_all()
        self.folder.chmod(0o777)
        for value, expected in ((0, "refused"), (2, "refused"), (4, "refused"), (12, "alike")):
            with self.subTest(value=value):
                run = subprocess.run(
                    ["setpriv", "--reuid", "4242", "--regid", "4242", "--clear-groups", "sh", "-c", f'ulimit -p {value}; exec "$@"', "sh",
                     program, "sh", "-c", "echo said; exit 7"],
                    stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=self.folder, env=self.environment(), timeout=120)
                if expected == "alike":
                    self.assertEqual((run.returncode, run.stdout), (7, "said\n"), run.stderr)
                else:
                    self.assertEqual((run.returncode, run.stdout), (NOT_STARTED, ""))
                    self.assertRegex(run.stderr, rf"\Asafelaunch: .*ulimit -u {value} leaves safelaunch no room: it needs .*\n\Z")


class FailingCalls(SafelaunchTest):
    @unittest.skipUnless(shutil.which("strace"), "strace is not installed")
    def test_an_interrupted_wait_for_a_child_loses_no_end(self):
        within = ["strace", "-f", "-qq", "-o", "/dev/null", "-b", "execve", "-e", "inject=wait4:error=EINTR:when=1"]
        for ranks in ([], ["--nproc-per-node", "2"]):
            with self.subTest(ranks=ranks):
                run = subprocess.run([*within, SAFELAUNCH, *ranks, "--", "sh", "-c", "exit 7"], stdin=subprocess.DEVNULL, capture_output=True,
                                     text=True, cwd=self.folder, env=self.environment(), timeout=60)
                self.assertEqual(run.returncode, 7, run.stderr)

    def traced(self, *options):
        command = [SAFELAUNCH, "--", "sh", "-c", "echo one; exit 7"]
        return subprocess.run(["strace", "-f", "-qq", "-b", "execve", *options, *command], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, cwd=self.folder, env=self.environment(), timeout=60)

    @unittest.skipUnless(shutil.which("strace"), "strace is not installed")
    def test_a_read_of_the_jobs_pipe_that_fails_once_loses_no_output(self):
        """As the end of a terminal fails, that of no pipe."""
        trace = os.path.join(self.folder, "trace")
        self.traced("-e", "trace=read", "-o", trace)
        with open(trace) as file:
            reads = [line.split(maxsplit=1) for line in file if "read(" in line]
        number, reader = next((at, pid) for at, (pid, call) in enumerate(reads) if '"one' in call)
        number = sum(pid == reader for pid, _ in reads[:number])
        for when in range(number - 2, number + 6):  # how often it reads before differs by a few
            run = self.traced("-e", f"inject=read:error=EIO:when={when}", "-o", "/dev/null")
            self.assertEqual((run.stdout, run.returncode), ("one\n", 7), f"{when}: {run.stderr}")


if __name__ == "__main__":
    main(needs=())
