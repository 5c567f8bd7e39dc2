"""--interactive: the findings and the profiles are shown, and the run begins with the one that was chosen."""

import os
import sys

from harness import SafelaunchTest, main

QUESTION = b"Begin with which profile?"


class Interactive(SafelaunchTest):
    def answered(self, *answers):
        """A run on a terminal of its own; each answer is typed when the question stands there."""
        ours, theirs = os.openpty()
        process = self.start("--interactive", "--", sys.executable, "-c", "print('trained')", stdin=theirs, stdout=theirs,
                             stderr=theirs, start_new_session=True)
        os.close(theirs)
        screen, left = b"", list(answers)
        while True:
            try:
                text = os.read(ours, 4096)
            except OSError:  # the terminal's other side is closed
                break
            screen += text
            if left and screen.count(QUESTION) > len(answers) - len(left):
                os.write(ours, left.pop(0))
        os.close(ours)
        return self.finish(process), screen.decode()

    def test_enter_takes_the_chain_as_it_is(self):
        run, screen = self.answered(b"\n")
        self.assert_status(run, 0)
        self.assertRegex(screen, r"1  basic +cost: none")
        self.assertIn("trained", screen)
        self.assertEqual(run.attempts[0]["profile"], "basic")

    def test_a_profile_is_chosen_by_its_name_and_a_wrong_one_is_asked_again(self):
        run, screen = self.answered(b"lopback\n", b"loopback\n")
        self.assert_status(run, 0)
        self.assertIn("did you mean 'loopback'?", screen)
        self.assertEqual(run.attempts[0]["profile"], "loopback")

    def test_q_runs_nothing(self):
        run, screen = self.answered(b"q\n")
        self.assert_status(run, 130)
        self.assertNotIn("trained", screen)

    def test_without_a_terminal_it_is_refused(self):
        run = self.run_safelaunch("--interactive", "--", "true")
        self.assert_status(run, 64)
        self.assertIn("--interactive asks on the terminal, and there is none", run.err)


if __name__ == "__main__":
    main(needs=())
