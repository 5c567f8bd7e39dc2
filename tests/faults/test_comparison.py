"""What the bench calls the same, and what a false alarm."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from comparison import differences  # noqa: E402

BARE = {"status": 0, "out": "rank 0\nrank 1\n", "err": ""}
ATTEMPT = {"e": "attempt"}


def ours(**changed):
    return {**BARE, "events": [ATTEMPT], **changed}


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
        self.assertEqual(differences(BARE, ours(events=[ATTEMPT, {"e": "verdict", "text": "hung"}])), ["verdict: hung"])

    def test_a_hang_on_stderr_is_an_alarm(self):
        self.assertEqual(differences(BARE, ours(err="safelaunch: rank 1 hangs in group\n")), ["safelaunch: rank 1 hangs in group"])

    def test_a_fault_of_the_hook_is_an_alarm(self):
        self.assertEqual(differences(BARE, ours(events=[ATTEMPT, {"e": "hook_error", "error": "ValueError"}])), ["hook_error: ValueError"])

    def test_a_second_attempt_is_an_alarm(self):
        self.assertEqual(differences(BARE, ours(events=[ATTEMPT, ATTEMPT])), ["2 attempts"])


if __name__ == "__main__":
    unittest.main()
