import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from judgement import judge, to_try_again  # noqa: E402
from results import FAILED, PASSED, SKIPPED, Result, read_results  # noqa: E402


def results(**states):
    return {name: Result(name, state) for name, state in states.items()}


def case(name, status, inside=""):
    return f'<testsuite><testcase name="{name}" status="{status}">{inside}</testcase></testsuite>'


class TestResults(unittest.TestCase):
    def test_a_program_that_is_missing_has_failed_although_ctest_writes_that_it_did_not_run(self):
        read = read_results(case("a", "notrun", '<skipped message="Unable to find executable"/>'))["a"]
        self.assertEqual((read.state, read.reason), (FAILED, "Unable to find executable"))

    def test_a_skipped_test_gives_the_reason_of_its_last_such_line(self):
        read = read_results(case("a", "notrun", '<skipped message="SKIP_RETURN_CODE=77"/><system-out>skipped: the first word\n'
                                                'skipped: no GPU\nbye\n</system-out>'))["a"]
        self.assertEqual((read.state, read.reason), (SKIPPED, "no GPU"))

    def test_a_skipped_test_without_a_word_is_told_as_such(self):
        read = read_results(case("a", "notrun", '<skipped message="SKIP_RETURN_CODE=77"/><system-out/>'))["a"]
        self.assertEqual(read.reason, "it does not say why")

    def test_a_disabled_test_counts_as_skipped(self):
        self.assertEqual(read_results(case("a", "disabled"))["a"].state, SKIPPED)

    def test_what_a_file_of_unittest_skips_while_it_passes_is_seen(self):
        read = read_results(case("a", "run", "<system-out>test_x (b.C.test_x) ... skipped 'not root'\n"
                                             "test_y (b.C.test_y) ... ok\n\nRan 2 tests in 0.1s\n\nOK (skipped=1)\n</system-out>"))["a"]
        self.assertEqual((read.state, read.reason), (PASSED, "1 of 2: not root"))

    def test_a_file_of_unittest_that_skips_nothing_has_nothing_to_say(self):
        self.assertEqual(read_results(case("a", "run", "<system-out>Ran 2 tests in 0.1s\n\nOK\n</system-out>"))["a"].reason, "")

    def test_the_cases_of_a_program_are_counted_and_those_that_failed_are_named(self):
        line, dots, equals = "-" * 79, "." * 79, "=" * 79
        passed = read_results(case("a", "run", "<system-out>All tests passed (9 assertions in 7 test cases)\n</system-out>"))["a"]
        self.assertEqual((passed.state, passed.cases, passed.reason), (PASSED, 7, ""))
        said = (f"{line}\none\n{line}\na.cc:2\n{dots}\n\na.cc:2: FAILED:\n  CHECK( 1 == 2 )\n\n"
                f"{line}\ntwo\n{line}\na.cc:3\n{dots}\n\na.cc:3: warning:\n  no moon\n\n"
                f"{line}\nthree has a long name that goes on\nin the next line\n  a section\n{line}\na.cc:4\n{dots}\n\n"
                f"a.cc:4: FAILED:\n  CHECK( false )\n\n{equals}\ntest cases: 9 | 7 passed | 2 failed\nassertions: 4 | 2 failed\n")
        failed = read_results(case("a", "fail", f'<failure message=""/><system-out>{said}</system-out>'))["a"]
        self.assertEqual((failed.state, failed.cases, failed.failed), (FAILED, 9, 2))
        self.assertEqual(failed.reason, "one; three has a long name that goes on in the next line / a section")
        judgement = judge({"a": passed, "b": failed}, {})
        self.assertEqual(list(judgement.lines())[-1], "14 passed, 2 failed, 0 skipped")

    def test_the_failed_tests_of_a_file_of_unittest_are_named_with_what_went_wrong(self):
        equals, dashes = "=" * 70, "-" * 70
        said = (f"{equals}\nFAIL: test_x (a.B.test_x)\nWhat it is for.\n{dashes}\nTraceback (most recent call last):\n"
                f'  File "a.py", line 1, in test_x\nAssertionError: 1 != 0 : status 1\n--- stdout\n\n{equals}\n'
                f"ERROR: test_y (a.B.test_y)\n{dashes}\nTraceback (most recent call last):\n  x\nKeyError: 'y'\n\n"
                f"{dashes}\nRan 3 tests in 1.0s\n\nFAILED (failures=1, errors=1)\n")
        failed = read_results(case("a", "fail", f'<failure message="Failed"/><system-out>{said}</system-out>'))["a"]
        self.assertEqual(failed.reason, "test_x: AssertionError: 1 != 0 : status 1; test_y: KeyError: 'y'")
        flaky = judge({"a": failed}, results(a=PASSED))
        self.assertEqual(next(flaky.lines()), "flaky: a: it failed, and passed when it ran alone: " + failed.reason)
        twice = judge({"a": failed}, {"a": Result("a", FAILED, "test_z: no end")})
        self.assertEqual(next(twice.lines()), "failed: a: " + failed.reason + "; alone: test_z: no end")

    def test_what_cases_of_a_program_that_passes_left_out_is_told(self):
        said = "a.h:3: warning:\n  SKIPPED: no etcd\n\na.h:3: warning:\n  SKIPPED: no etcd\n\nAll tests passed (1 assertion in 1 test case)\n"
        read = read_results(case("a", "run", f"<system-out>{said}</system-out>"))["a"]
        self.assertEqual((read.state, read.reason), (PASSED, "no etcd"))


class TestSecondTry(unittest.TestCase):
    def test_only_failed_tests_that_start_processes_get_one(self):
        first = results(pure=FAILED, real=FAILED, well=PASSED, absent=SKIPPED)
        labels = {"pure": ["unit"], "real": ["unit", "doubles"], "well": ["hook"], "absent": ["gpu"]}
        self.assertEqual(to_try_again(first, labels), ["real"])

    def test_a_test_that_passes_then_is_flaky_and_the_run_passes(self):
        judgement = judge(results(a=PASSED, b=FAILED), results(b=PASSED))
        self.assertTrue(judgement.well)
        self.assertEqual(list(judgement.lines()), ["flaky: b: it failed, and passed when it ran alone", "2 passed, 0 failed, 0 skipped"])

    def test_a_test_that_fails_again_or_is_skipped_then_has_failed(self):
        judgement = judge(results(a=FAILED, b=FAILED), results(a=FAILED, b=SKIPPED))
        self.assertFalse(judgement.well)
        self.assertEqual(list(judgement.lines()), ["failed: a", "failed: b", "0 passed, 2 failed, 0 skipped"])

    def test_two_flaky_tests_pass_and_three_count_as_failed(self):
        two, three = results(a=FAILED, b=FAILED), results(a=FAILED, b=FAILED, c=FAILED)
        self.assertTrue(judge(two, results(a=PASSED, b=PASSED)).well)
        judgement = judge(three, results(a=PASSED, b=PASSED, c=PASSED))
        self.assertFalse(judgement.well)
        self.assertEqual(list(judgement.lines())[-1], "0 passed, 3 failed, 0 skipped")


class TestLastLines(unittest.TestCase):
    def test_what_is_skipped_or_left_out_is_named_and_counted(self):
        first = {"a": Result("a", SKIPPED, "no NCCL"), "b": Result("b", PASSED, "1 of 2: not root"), "c": Result("c", PASSED)}
        judgement = judge(first, {}, [("there is no GPU", ["g", "h"]), ("nobody asked", [])])
        self.assertTrue(judgement.well)
        self.assertEqual(list(judgement.lines()), ["skipped in part: b: 1 of 2: not root", "skipped: a: no NCCL",
                                                   "left out: g, h: there is no GPU", "2 passed, 0 failed, 3 skipped"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
