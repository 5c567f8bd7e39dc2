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
        return done.returncode, json.loads(rows.read_text()), done.stdout.splitlines()[-1]

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

    def test_a_parser_that_crashes_is_seen(self):
        self.assert_seen('[ "$1" != mcp ] || kill -SEGV $$; exec TRUE "$@"', "P21", "changed requests")

    def test_the_true_one_keeps_its_promises(self):
        status, rows, last = self.tried(PROGRAM, "P1", "P5", "P12", "P14", "P22", "P24", "--trials", "2")
        self.assertEqual((status, sum(row["failures"] for row in rows)), (0, 0), self.said)
        self.assertEqual(last, f"{sum(row['trials'] for row in rows)} trials, 0 failures")

    def test_a_file_keeps_the_rows_of_what_was_not_tried(self):
        for promise, what, trials in (("P24", "MiB", 1), ("P5", "from 0 to 255", 2), ("P5", "from 0 to 255", 1)):
            status, rows, _ = self.tried(PROGRAM, promise, "--what", what, "--trials", str(trials))
            self.assertEqual(status, 0, self.said)
        self.assertEqual([(row["promise"], row["trials"]) for row in rows], [("P5", 1), ("P24", 1)])
        for row in rows:
            self.assertTrue(all(row[name] for name in ("date", "machine", "load")), row)



if __name__ == "__main__":
    unittest.main(verbosity=2)
