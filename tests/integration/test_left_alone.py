"""What safelaunch must not end, and what it says of that which it ends or cannot end."""

import ctypes
import os
import shutil
import signal
import stat
import struct
import subprocess
import sys
import unittest

from harness import SAFELAUNCH, SafelaunchTest, free_port, is_alive, main, wait_until

SLEEPER = "sleep 600"
# What a shell has just put into the background has the shell's name until its exec.
SLEEPS = 'until read -r name < /proc/$!/comm && [ "$name" = sleep ]; do :; done'


def refuse_pidfd_open():
    """From here on the call fails with ENOSYS, as on a kernel before 5.3."""
    PIDFD_OPEN, ENOSYS, RET_ERRNO, RET_ALLOW = 434, 38, 0x50000, 0x7FFF0000
    program = b"".join(struct.pack("HBBI", *line) for line in (
        (0x20, 0, 0, 0),  # the call's number
        (0x15, 0, 1, PIDFD_OPEN), (0x06, 0, 0, RET_ERRNO | ENOSYS), (0x06, 0, 0, RET_ALLOW)))
    lines = ctypes.create_string_buffer(program, len(program))
    filter_ = struct.pack("HxxxxxxP", 4, ctypes.addressof(lines))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
    if libc.prctl(22, 2, filter_, 0, 0) != 0:  # PR_SET_SECCOMP, by a filter
        os._exit(99)


# As Lightning does: the first rank starts the second, and does not wait for it.
RANKS_WITHOUT_A_LAUNCHER = """
import os, subprocess, sys, time, torch, torch.distributed as dist
rank = int(os.environ.setdefault("RANK", "0"))
if rank == 0:
    subprocess.Popen([sys.executable, __file__], env={**os.environ, "RANK": "1"})
first = os.getppid()
dist.init_process_group("gloo", world_size=2, rank=rank)
dist.all_reduce(torch.ones(1))
if rank == 1:
    while os.getppid() == first:
        time.sleep(0.01)
    time.sleep(1.5)  # it saves
    open("saved", "w").close()
"""


class LeftAlone(SafelaunchTest):
    def shell(self, text, *words, timeout=120, **options):
        """Runs a bash script that knows safelaunch as $SL."""
        environment = self.environment(SL=SAFELAUNCH, SAFELAUNCH_RUN_DIR="")
        environment.pop("SAFELAUNCH_RUN_DIR")
        return subprocess.run(["bash", "-c", text, *words], env=environment, cwd=self.folder, capture_output=True, text=True,
                              timeout=timeout, **options)

    def pid_in(self, name):
        path = self.folder / name
        wait_until(lambda: path.exists() and path.read_text().endswith("\n"), what=f"a pid in {name}")
        pid = int(path.read_text())
        self.addCleanup(lambda: is_alive(pid) and os.kill(pid, signal.SIGKILL))
        return pid

    def assert_lives(self, pid):
        self.assertTrue(is_alive(pid), f"{pid} was ended")
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not is_alive(pid), what="its end by us")

    def test_children_of_the_shell_that_became_safelaunch_live_on(self):
        run = self.shell(f'{SLEEPER} > /dev/null 2>&1 & echo $! > before; exec $SL -- /bin/true')
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assert_lives(self.pid_in("before"))

    def test_the_reader_of_our_own_output_may_read_it_to_its_end(self):
        run = self.shell('exec > >(while read -r line; do echo "$line"; done > log; echo $BASHPID > done) 2>&1; '
                         'exec $SL -- bash -c \'for i in {1..50}; do echo line $i; done\'')
        self.assertEqual(run.returncode, 0)
        wait_until(lambda: (self.folder / "done").exists(), seconds=60, what="the reader's end")
        self.assertIn("line 50\n", (self.folder / "log").read_text())

    def test_a_daemon_of_the_job_is_ended_however_deep_below_shells_safelaunch_runs(self):
        deep = "exec $SL -- sh -c 'setsid sh -c \"echo \\$\\$ > left; exec sleep 600\" > /dev/null 2>&1 & until [ -s left ]; do :; done'"
        (self.folder / "deep.sh").write_text(f"sleep 600 > /dev/null 2>&1 & echo $! > stranger\n{deep}\n")
        words = "bash deep.sh"
        for level in range(12):
            (self.folder / f"level{level}.sh").write_text(f"{words}\nexit $?\n")
            words = f"bash level{level}.sh"
        run = self.shell(words)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertFalse(is_alive(self.pid_in("left")), run.stderr)
        self.assert_lives(self.pid_in("stranger"))

    def test_what_was_left_after_a_success_is_named(self):
        run = self.run_safelaunch("--", "sh", "-c", f"{SLEEPER} > /dev/null 2>&1 & {SLEEPS}; echo left $!")
        self.assert_status(run, 0)
        pid = run.out.split()[1]
        self.assertIn(f"ended what the job had left running: sleep (pid {pid})", run.err)
        self.assertIn("SAFELAUNCH_KEEP=1", run.err)

    def test_a_rank_that_outlives_the_first_one_may_save(self):
        run = self.run_safelaunch(sys.executable, self.script(RANKS_WITHOUT_A_LAUNCHER),
                                  env=self.environment(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port())))
        self.assert_status(run, 0)
        self.assertTrue((self.folder / "saved").exists(), run.err)
        self.assertNotIn("ended what", run.err)

    def test_a_process_that_asks_for_it_is_kept(self):
        run = self.run_safelaunch(
            "--", "sh", "-c", f"SAFELAUNCH_KEEP=1 setsid sh -c 'echo $$ > kept; exec {SLEEPER}' > /dev/null 2>&1 & "
                              f"until [ -s kept ]; do :; done")
        self.assert_status(run, 0)
        self.assertNotIn("ended what", run.err)
        self.assert_lives(self.pid_in("kept"))

    def test_a_kept_process_survives_the_end_of_the_grace_and_the_rest_does_not(self):
        process = self.start("--grace", "1s", "--", "sh", "-c", f"trap '' INT; (SAFELAUNCH_KEEP=1 exec setsid {SLEEPER} > /dev/null 2>&1) & "
                             f"echo $! > kept; {SLEEPER} & echo $! > other; while :; do wait; done")
        kept, other = self.pid_in("kept"), self.pid_in("other")
        process.send_signal(signal.SIGINT)
        self.finish(process)
        self.assertFalse(is_alive(other))
        self.assert_lives(kept)

    def test_a_job_cannot_be_kept_as_a_whole(self):
        run = self.run_safelaunch("--", "sh", "-c", f"{SLEEPER} & echo $! > left", env=self.environment(SAFELAUNCH_KEEP="1"))
        self.assert_status(run, 0)
        self.assertFalse(is_alive(self.pid_in("left")))

    def test_without_pidfds_it_says_so_and_ends_with_125(self):
        run = self.run_safelaunch("--", "/bin/true", preexec_fn=refuse_pidfd_open)
        self.assert_status(run, 125)
        self.assertIn("pidfd_open", run.err)

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"), "makes a setuid program: needs root")
    def test_a_setuid_program_that_is_left_is_told_of_and_not_waited_for(self):
        self.folder.chmod(0o755)
        tool = self.folder / "setpriv"
        shutil.copy(shutil.which("setpriv"), tool)
        tool.chmod(stat.S_ISUID | 0o755)
        state = self.folder / "of-nobody"
        state.mkdir()
        os.chown(state, 65534, 65534)
        # Until it is the sleep, its real user may still be nobody, who may end it.
        run = self.shell(f"setpriv --reuid 65534 --regid 65534 --clear-groups $SL --run-dir {state}/run -- sh -c "
                         f"'{tool} --reuid 0 {SLEEPER} > /dev/null 2>&1 & echo $! > {state}/left; "
                         f"{SLEEPS}'", timeout=60)
        self.assertEqual(run.returncode, 0, run.stderr)
        pid = self.pid_in("of-nobody/left")
        self.assertEqual(run.stderr.count(str(pid)), 1, run.stderr)
        self.assertIn(f"leaves pid {pid} (sleep) running: it belongs to user root", run.stderr)
        self.assertTrue(is_alive(pid))
        # Its safelaunch, nobody's, is gone; a run of root's has no claim to it.
        self.assert_status(self.run_safelaunch("--", "true"), 0)
        self.assert_lives(pid)

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("unshare"), "needs a pid namespace")
    def test_numbers_of_another_pid_namespace_are_not_signalled(self):
        inside = ('$SL -- sleep 1 & job=$!; for i in {1..20}; do sleep 600 & all="$all $!"; done; wait $job; echo status $?; '
                  'for pid in $all; do kill -0 $pid 2> /dev/null || echo dead $pid; done')
        run = self.shell(f"unshare -pf --kill-child bash -c '{inside}'")
        self.assertIn("status 0", run.stdout, run.stderr)
        self.assertNotIn("dead", run.stdout)
        self.assertEqual(run.stderr.count("/proc belongs to another pid namespace"), 1, run.stderr)


if __name__ == "__main__":
    main(needs=())
