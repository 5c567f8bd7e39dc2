"""Ranks that all wait for one lock before any waits for another: no clock runs, and a line says what is seen."""

import json
import pathlib
import subprocess
import sys
import threading

from harness import SAFELAUNCH, SafelaunchTest, main, wait_until

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


class Standstill(SafelaunchTest):
    def setUp(self):
        super().setUp()
        self.extensions = self.folder / "extensions"
        self.lock = self.extensions / "cpu_adam" / "lock"
        self.lock.parent.mkdir(parents=True)
        self.lock.touch()

    def environment(self, **more):
        return super().environment(TORCH_EXTENSIONS_DIR=str(self.extensions), **more)

    def status(self):
        done = subprocess.run([SAFELAUNCH, "status", "--json"], env=self.environment(), capture_output=True, text=True,
                              timeout=60)
        return done.stdout

    def test_it_is_told_with_the_places_and_the_lock_and_the_job_goes_on(self):
        # `status` looks where runs are kept by default, hence no --run-dir.
        job = subprocess.Popen(
            [SAFELAUNCH, "--init-timeout", "3s", "--nproc-per-node", "2", "--", sys.executable,
             self.script(BEHIND_A_LOCK), str(self.lock)],
            env=self.environment(), cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        said = []
        reader = threading.Thread(target=lambda: said.extend(iter(job.stderr.readline, "")))
        reader.start()
        told = "no rank has used a CPU or files for"
        try:
            wait_until(lambda: job.poll() is not None or any(told in line for line in said), what="the line")
            wait_until(lambda: job.poll() is not None or told in self.status(), what="the line in `status`")
            self.assertIsNone(job.poll(), "".join(said))
            self.lock.unlink()
            self.assertEqual(job.wait(timeout=120), 0, "".join(said))
        finally:
            self.lock.unlink(missing_ok=True)
            if job.poll() is None:
                job.terminate()
                job.wait(timeout=60)
            reader.join()
            job.stderr.close()
        line = next(line for line in said if told in line)
        self.assertIn("none waits for another: ranks 0 1 in ", line)
        self.assertIn("job.py:8 <module> → wait (sleeping", line)
        self.assertIn(f"the lock of an extension's build: {self.lock} (", line)
        (outcome,) = self.folder.glob("state/safelaunch/**/outcome.json")
        self.assertEqual(len(json.loads(pathlib.Path(outcome).read_text())["attempts"]), 1)


if __name__ == "__main__":
    main()
