"""What the bench calls the same, and what a false alarm."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from at_a_terminal import stays  # noqa: E402
from comparison import differences  # noqa: E402

BARE = {"status": 0, "out": "rank 0\nrank 1\n", "err": ""}
ATTEMPT = {"e": "attempt"}


def ours(**changed):
    return {**BARE, "runs": [[ATTEMPT]], **changed}


class Comparison(unittest.TestCase):
    def test_the_order_of_the_ranks_lines_is_nobodys_promise(self):
        self.assertEqual(differences(BARE, ours(out="rank 1\nrank 0\n")), [])

    def test_what_safelaunch_sees_is_no_alarm(self):
        self.assertEqual(differences(BARE, ours(err="safelaunch: attempt 1 basic · group 0/2 · waiting for rank 1 (working) 10s/60s\n")), [])

    def test_another_status(self):
        self.assertEqual(differences(BARE, ours(status=124)), ["status 124 instead of 0"])

    def test_a_line_less_and_a_line_more(self):
        self.assertEqual(differences(BARE, ours(out="rank 0\nrank 0\n")), ["stdout lacks 'rank 1\\n'", "stdout has 'rank 0\\n' more"])

    def test_a_line_that_is_cut(self):
        self.assertEqual(differences(BARE, ours(out="rank 0\nrank 1")), ["stdout lacks 'rank 1\\n'", "stdout has 'rank 1' more"])

    def test_a_verdict_is_an_alarm_though_status_and_output_are_the_same(self):
        self.assertEqual(differences(BARE, ours(runs=[[ATTEMPT, {"e": "verdict", "text": "hung"}]])), ["verdict: hung"])

    def test_a_hang_on_stderr_is_an_alarm(self):
        self.assertEqual(differences(BARE, ours(err="safelaunch: rank 1 hangs in group\n")), ["safelaunch: rank 1 hangs in group"])

    def test_a_fault_of_the_hook_is_an_alarm(self):
        self.assertEqual(differences(BARE, ours(runs=[[ATTEMPT, {"e": "hook_error", "error": "ValueError"}]])), ["hook_error: ValueError"])

    def test_a_second_attempt_is_an_alarm(self):
        self.assertEqual(differences(BARE, ours(runs=[[ATTEMPT, ATTEMPT]])), ["2 attempts"])

    def test_two_runs_of_a_script_are_no_two_attempts(self):
        self.assertEqual(differences(BARE, ours(runs=[[ATTEMPT], [ATTEMPT]])), [])

    def test_a_program_that_fails_has_a_cause_and_one_that_does_not_has_none(self):
        cause = {"e": "cause", "text": "The command failed."}
        self.assertEqual(differences(BARE, ours(runs=[[ATTEMPT, cause, {"e": "end", "exit_status": 3}]])), [])
        self.assertEqual(differences(BARE, ours(runs=[[ATTEMPT, cause, {"e": "end", "exit_status": 0}]])), ["cause: The command failed."])

    def test_a_terminal_whose_modes_do_not_come_back(self):
        bare = {**BARE, "modes": "as before"}
        self.assertEqual(differences(bare, ours(modes="changed")), ["the terminal's modes are changed, and bare as before"])


class OnTheScreen(unittest.TestCase):
    def test_a_line_that_is_drawn_for_the_moment_does_not_stay(self):
        self.assertEqual(stays(b"one\r\nsafelaunch: attempt 1\r\x1b[Ktwo\r\n"), (["one", "two", ""], []))

    def test_lines_of_safelaunch_stand_for_themselves(self):
        self.assertEqual(stays(b"\x1b[1msafelaunch: what happened\x1b[0m\r\none"), (["one"], ["safelaunch: what happened"]))

    def test_an_erased_line_of_the_job_is_missed_only_where_bare_kept_it(self):
        self.assertEqual(stays(b"\rhalf\x1b[K\r\n")[0], ["\rhalf\x1b[K", ""])

    def test_the_hour_and_the_pid_of_a_warning_are_no_difference(self):
        first, second = b"W1126 09:55:12.123 123 run.py:7] slow", b"W1126 10:01:00.000 99 run.py:7] slow"
        self.assertEqual(stays(first), stays(second))

    def test_a_shells_word_of_a_death_by_a_signal_is_no_difference(self):
        screen = b"run.sh: line 4:    77 Killed      python job.py\r\nTerminated\r\nKilled processes: 3\r\n"
        self.assertEqual(stays(screen)[0], ["Killed processes: 3", ""])


if __name__ == "__main__":
    unittest.main()
