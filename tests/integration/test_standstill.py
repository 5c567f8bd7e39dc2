"""Ranks that all wait for one lock before any waits for another: no clock runs, and a line says what is seen."""

import json
import os
import pathlib
import subprocess
import sys
import threading
import time

from harness import APART, SAFELAUNCH, SafelaunchTest, main, wait_until
from own_mounts import HOUR

# What torch does where somebody else seems to build the extension that it wants.
BEHIND_A_LOCK = '''
import os
import sys

import torch.distributed as dist
from torch.utils.file_baton import FileBaton

FileBaton(sys.argv[1]).wait()
dist.init_process_group("gloo")
dist.barrier()
dist.destroy_process_group()
'''

# As torch loads an extension: whoever gets the lock builds it, and the others import what was built.
IMPORTS_WHAT_IS_BUILT = '''
import os
import sys

import torch.distributed as dist
from torch.utils.file_baton import FileBaton

library, baton = os.path.join(os.path.dirname(sys.argv[1]), "cpu_adam.so"), FileBaton(sys.argv[1])
if baton.try_acquire():
    open(library, "w").close()
    baton.release()
else:
    baton.wait()
if not os.path.exists(library):
    raise ImportError(f"{library}: cannot open shared object file: No such file or directory")
dist.init_process_group("gloo")
dist.barrier()
dist.destroy_process_group()
'''

# All ranks wait for something of the script's own that never comes.
NEVER_COMES = '''
import time

import torch


def waits_for_a_file():
    while True:
        time.sleep(3600)


waits_for_a_file()
'''

TOLD = "stood still for "


class Standstill(SafelaunchTest):
    def setUp(self):
        super().setUp()
        self.extensions = self.folder / "extensions"
        self.lock = self.extensions / "cpu_adam" / "lock"
        self.lock.parent.mkdir(parents=True)
        self.lock.touch()

    def environment(self, **more):
        return super().environment(TORCH_EXTENSIONS_DIR=str(self.extensions), **more)

    def make_old(self):
        """As a build left it that was killed an hour ago."""
        past = time.time() - HOUR
        os.utime(self.lock, (past, past))

    def status(self):
        done = subprocess.run([SAFELAUNCH, "status", "--json"], env=self.environment(), capture_output=True, text=True,
                              timeout=60)
        return done.stdout

    def run_until_told(self, *options, apart=()):
        """What safelaunch said, once the job is over; a lock that is still there when the line has come is removed here."""
        # `status` looks where runs are kept by default, hence no --run-dir.
        job = subprocess.Popen(
            [*apart, SAFELAUNCH, "--init-timeout", "3s", *options, "--nproc-per-node", "2", "--", sys.executable,
             self.script(BEHIND_A_LOCK), str(self.lock)],
            env=self.environment(), cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        said = []
        reader = threading.Thread(target=lambda: said.extend(iter(job.stderr.readline, "")))
        reader.start()
        try:
            wait_until(lambda: job.poll() is not None or any(TOLD in line for line in said), what="the line")
            yield job
            self.assertEqual(job.wait(timeout=120), 0, "".join(said))
        finally:
            self.lock.unlink(missing_ok=True)
            if job.poll() is None:
                job.terminate()
                job.wait(timeout=60)
            reader.join()
            job.stderr.close()
        (outcome,) = self.folder.glob("state/safelaunch/**/outcome.json")
        self.assertEqual(len(json.loads(pathlib.Path(outcome).read_text())["attempts"]), 1)
        yield said

    def line_of(self, said):
        return next(line for line in said if TOLD in line)

    def test_it_is_told_with_the_places_and_the_lock_and_the_job_goes_on(self):
        run = self.run_until_told()
        job = next(run)
        wait_until(lambda: job.poll() is not None or TOLD in self.status(), what="the line in `status`")
        self.assertIsNone(job.poll())
        self.lock.unlink()
        said = next(run)
        line = self.line_of(said)
        self.assertIn("none waits for another: ranks 0 1 in ", line)
        # It looks for the lock ten times a second, and sleeps in between.
        self.assertRegex(line, r"job\.py:8 <module> → wait\(lock=\S+/cpu_adam/lock\) \(")
        self.assertIn(f"safelaunch: attempt 1 basic · the lock of an extension's build: {self.lock} (", said[said.index(line) + 1])
        self.assertNotIn("wait for the lock", line)  # it is told once

    def test_a_lock_that_nobody_holds_and_nobody_builds_is_removed_and_the_job_goes_on(self):
        self.make_old()
        run = self.run_until_told(apart=APART)
        next(run)
        said = next(run)
        self.assertIn(f"removed: {self.lock} ", "".join(said))
        self.assertIn(f"the build behind {self.lock} was cut off before it made a library", "".join(said))
        self.assertNotIn("doctor --fix", "".join(said[said.index(self.line_of(said)):]))

    def test_a_build_that_was_cut_off_is_made_by_the_next_start(self):
        self.make_old()
        run = self.run_safelaunch("--init-timeout", "3s", "--nproc-per-node", "2", "--", sys.executable,
                                  self.script(IMPORTS_WHAT_IS_BUILT), str(self.lock), apart=APART)
        self.assert_status(run, 0)
        self.assertEqual([one["profile"] for one in run.attempts], ["basic", "basic"], str(run))
        self.assertEqual(run.attempts[0]["cause"]["id"], "extension-cut-off", str(run))

    def test_with_clean_off_nothing_is_removed(self):
        self.make_old()
        run = self.run_until_told("--clean", "off", apart=APART)
        next(run)
        self.assertTrue(self.lock.exists())
        self.lock.unlink()
        said = next(run)
        self.assertNotIn("removed: ", "".join(said))
        self.assertIn("help: safelaunch doctor --fix\n", "".join(said))


class AStartThatMayStandStillForSoLong(SafelaunchTest):
    """`timeouts: start`."""

    def test_it_is_ended_and_not_started_again_once_it_stands_at_the_same_place_again(self):
        for name in ("first", "second", "third"):
            (self.folder / f"{name}.yaml").write_text(f"name: {name}\nextends: basic\ntimeouts: {{init: 600s, start: 5s}}\n"
                                                      f"env: {{WHICH: {name}}}\n")
        chain = ",".join(str(self.folder / f"{name}.yaml") for name in ("first", "second", "third"))
        run = self.run_safelaunch("--profile", chain, "--nproc-per-node", "2", "--", sys.executable, self.script(NEVER_COMES))
        self.assert_status(run, 124)
        self.assertEqual([one["end"] for one in run.attempts], ["hung", "hung"], str(run))
        for attempt in run.attempts:
            self.assertEqual((attempt["cause"]["id"], attempt["cause"]["certainty"]), ("start-stuck", "confirmed"), str(run))
            self.assertRegex(attempt["cause"]["explanation"], r"^All ranks have stood still for [\d.]+s, and none waits for "
                             r"another: ranks 0 1 in job.py:\d+ .*waits_for_a_file \(sleeping")
        self.assertRegex(run.outcome["stopped_because"], r"^rank 0 stands in job.py:\d+ .*waits_for_a_file again, 1 other likewise")
        self.assertEqual({event["kind"] for event in run.events if event["e"] == "verdict"}, {"stood_still"})


if __name__ == "__main__":
    main()
