"""run.py over a tiny project of CMake."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

RUN = pathlib.Path(__file__).with_name("run.py")

PROJECT = '''
cmake_minimum_required(VERSION 3.25)
project(tiny NONE)
enable_testing()

function(scene name label)
  add_test(NAME "${name}" COMMAND sh -c "${ARGN}")
  set_tests_properties("${name}" PROPERTIES LABELS ${label} SKIP_RETURN_CODE 77)
endfunction()

scene(passes unit "true")
scene("fails once (a+b): it.s" hook "test -e been || { touch been; exit 1; }")
scene("fails once, pure" unit "test -e been-too || { touch been-too; exit 1; }")
scene(fails integration "echo I am wrong; false")
scene(skips hook "echo skipped: there is no moon; exit 77")
scene(needs-gpu gpu "false")
add_test(NAME missing COMMAND /there/is/no/such/program)
'''


class TestRun(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "CMakeLists.txt").write_text(PROJECT)
        subprocess.run(["cmake", "-G", "Ninja", "-S", self.folder, "-B", self.folder], check=True, stdout=subprocess.DEVNULL)

    def run_tests(self, *words):
        done = subprocess.run([sys.executable, RUN, "--leave-out", "gpu", "there is no GPU", "--test-dir", self.folder, "--", *words],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return done.returncode, done.stdout.splitlines()

    def test_the_last_lines_name_what_failed_what_was_flaky_and_what_was_skipped(self):
        status, lines = self.run_tests()
        self.assertEqual(status, 1, lines)
        self.assertEqual(lines[-7:], [
            "skipped: skips: there is no moon",
            "left out: needs-gpu: there is no GPU",
            "flaky: fails once (a+b): it.s: it failed, and passed when it ran alone",
            "failed: fails once, pure",
            "failed: fails",
            "failed: missing: Unable to find executable",
            "2 passed, 3 failed, 2 skipped"])

    def test_a_run_whose_only_failure_was_flaky_passes(self):
        status, lines = self.run_tests("-R", "passes|a.b")
        self.assertEqual((status, lines[-1]), (0, "2 passed, 0 failed, 0 skipped"), lines)
        self.assertTrue(lines[-2].startswith("flaky: fails once (a+b): it.s"), lines)

    def test_labels_that_the_user_excludes_are_left_out_beside_ours(self):
        status, lines = self.run_tests("-LE", "integration|unit", "-E", "missing")
        self.assertEqual((status, lines[-1]), (0, "1 passed, 0 failed, 2 skipped"), lines)

    def test_a_run_that_finds_no_test_does_not_pass(self):
        status, lines = self.run_tests("-R", "nobody has this name")
        self.assertEqual((status, lines[-1]), (1, "0 passed, 0 failed, 0 skipped"), lines)

    def test_a_test_that_ctest_never_came_to_has_failed(self):
        status, lines = self.run_tests("-R", "^fails$|skips", "--stop-on-failure")
        self.assertEqual((status, lines[-2:]), (1, ["failed: skips: it did not run", "0 passed, 2 failed, 0 skipped"]), lines)

    def test_a_listing_of_the_tests_is_ctests_own(self):
        status, lines = self.run_tests("-N")
        self.assertEqual((status, lines[-1]), (0, "Total Tests: 6"), lines)


if __name__ == "__main__":
    unittest.main(verbosity=2)
