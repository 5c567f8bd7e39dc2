"""bench/promises.py sees each promise broken by a launcher that breaks it, and kept by the true one."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.path.abspath(os.environ.get("SAFELAUNCH_BIN", ROOT / "build/release/launcher/cli/safelaunch"))


class Promises(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="test-promises-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def broken(self, text):
        """A launcher that does something besides running the true one."""
        path = self.folder / "broken"
        path.write_text("#!/bin/sh\n" + text.replace("TRUE", f"'{PROGRAM}'") + "\n")
        path.chmod(0o755)
        return str(path)

    def tried(self, program, *words):
        """(status, rows, the last line) of bench/promises.py."""
        rows = self.folder / "rows.json"
        done = subprocess.run([sys.executable, str(ROOT / "bench/promises.py"), *words, "--json", str(rows)],
                              env={**os.environ, "SAFELAUNCH_BIN": program}, capture_output=True, text=True, timeout=300)
        self.said = done.stdout + done.stderr
        self.assertTrue(rows.exists(), self.said)
        return done.returncode, json.loads(rows.read_text())["rows"], done.stdout.splitlines()[-1]

    def assert_seen(self, text, promise, what, trials=1):
        status, rows, last = self.tried(self.broken(text), promise, "--what", what, "--trials", str(trials))
        failed = [row for row in rows if row["failures"]]
        self.assertTrue(failed, self.said)
        self.assertTrue(all(row["first_failure"] for row in failed), rows)
        self.assertEqual(status, 1, self.said)
        self.assertRegex(last, r"\A\d+ trials, [1-9]\d* failures\Z")

    def test_a_launcher_that_always_succeeds_is_seen(self):
        self.assert_seen('TRUE "$@"; exit 0', "P5", "each exit status", trials=2)

    def test_a_launcher_that_eats_a_signal_is_seen(self):
        self.assert_seen('trap "" HUP; TRUE "$@" & wait', "P4", "reaches the job, once")

    def test_a_launcher_that_leaves_a_process_is_seen(self):
        self.assert_seen('setsid sleep 60 >/dev/null 2>&1 & exec TRUE "$@"', "P1", "shapes of workers")

    def test_a_launcher_that_drops_a_line_is_seen(self):
        self.assert_seen('TRUE "$@" | sed 5d', "P12", "numbered lines")

    def test_a_launcher_that_changes_the_umask_or_leaks_a_descriptor_is_seen(self):
        for text in ('umask 017; exec TRUE "$@"', 'exec 9</dev/null; exec TRUE "$@"'):
            with self.subTest(text):
                self.assert_seen(text, "P24", "/proc/self")

    def test_a_launcher_that_shows_control_characters_is_seen(self):
        self.assert_seen("printf '\\033[31m' >&2; exec TRUE \"$@\"", "P14", "control characters")

    def test_the_true_one_keeps_its_promises(self):
        status, rows, last = self.tried(PROGRAM, "P1", "P5", "P12", "P14", "P22", "P24", "--trials", "2")
        self.assertEqual((status, sum(row["failures"] for row in rows)), (0, 0), self.said)
        self.assertEqual(last, f"{sum(row['trials'] for row in rows)} trials, 0 failures")

    def test_a_page_keeps_the_rows_of_promises_that_were_not_tried_and_its_words(self):
        page = self.folder / "page.md"
        row = "| {} | old | 1 | 0 | - | - | long ago |"
        page.write_text("\n".join(["before", "<!-- rows: bench/promises.py --doc writes them -->", row.format("P5"), row.format("P6"),
                                   "<!-- end of the rows -->", "after", ""]))
        self.assertEqual(self.tried(PROGRAM, "P5", "--trials", "1", "--doc", str(page))[0], 0, self.said)
        text = page.read_text()
        self.assertIn(row.format("P6"), text)
        self.assertNotIn(row.format("P5"), text)
        self.assertIn("| P5 | each exit status from 0 to 255 | 1 | 0 |", text)
        self.assertTrue(text.startswith("before\n") and text.endswith("\nafter\n"), text)


if __name__ == "__main__":
    unittest.main(verbosity=2)
