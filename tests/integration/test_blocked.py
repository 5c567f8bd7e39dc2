"""While safelaunch's own checks wait for somebody, it hears signals."""

import os
import pathlib
import re
import signal
import time

from harness import SafelaunchTest, children_of, main, wait_until

TRIES = 200


def pending_of(pid):
    """The signals that wait for it, as a mask."""
    return int(re.search(r"ShdPnd:\t(\w+)", pathlib.Path(f"/proc/{pid}/status").read_text()).group(1), 16)


class Blocked(SafelaunchTest):
    def stop_the_checks(self, process):
        """Stops them as somebody who never answers would; None where they were too quick for us."""
        while process.poll() is None:
            try:
                for supervisor in children_of(process.pid):
                    for pid in children_of(supervisor):
                        os.kill(pid, signal.SIGSTOP)
                        # The job, before its exec, has our name too; but then its parent waits for it (vfork).
                        ours = pathlib.Path(f"/proc/{pid}/comm").read_text() == "safelaunch\n"
                        if ours and os.getsid(pid) == supervisor and self.settles(pid) == "T" and self.settles(supervisor) == "S":
                            return pid
                        os.kill(pid, signal.SIGCONT)
                        return None
            except OSError:
                continue  # it has just ended
        return None

    @staticmethod
    def settles(pid):
        """The state that it comes to: one that is ending stops no more."""
        state = "R"
        end = time.monotonic() + 10
        while state == "R" and time.monotonic() < end:
            state = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        return state

    def start_with_stopped_checks(self):
        for _ in range(TRIES):
            process = self.start("--", "touch", "ran")
            if self.stop_the_checks(process) and not (self.folder / "ran").exists():
                return process
            self.finish(process)
            (self.folder / "ran").unlink(missing_ok=True)
        self.skipTest("the checks were always too quick to be stopped")

    def test_a_signal_during_the_checks_ends_the_run_and_starts_no_job(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            with self.subTest(number=number):
                process = self.start_with_stopped_checks()
                process.send_signal(number)
                self.assert_status(self.finish(process, timeout=15), 128 + number)  # the checks have twenty seconds
                self.assertFalse((self.folder / "ran").exists())

    def hand_on(self, process, number):
        """Sends it, and waits until the guardian has passed it to the supervisor, which is stopped."""
        process.send_signal(number)
        bit = 1 << (number - 1)
        wait_until(lambda: not pending_of(process.pid) & bit, what="the guardian")

    def test_of_two_signals_during_the_checks_the_first_counts(self):
        process = self.start_with_stopped_checks()
        supervisor = children_of(process.pid)[0]
        os.kill(supervisor, signal.SIGSTOP)  # it will read both at once
        for number in (signal.SIGQUIT, signal.SIGHUP):
            self.hand_on(process, number)
        os.kill(supervisor, signal.SIGCONT)
        run = self.finish(process)
        self.assert_status(run, 128 + signal.SIGQUIT)
        self.assertEqual([event["exit_status"] for event in run.events if event["e"] == "end"], [128 + signal.SIGQUIT])

    def test_checks_that_never_end_are_left_out(self):
        run = self.finish(self.start_with_stopped_checks())
        self.assert_status(run, 0)
        self.assertIn("the job starts without the checks of the host: the checks took longer than 20s", run.err)
        self.assertTrue((self.folder / "ran").exists())


if __name__ == "__main__":
    main(needs=())
