"""Scene e: a rank that works is waited for, however long it takes; nobody calls that a hang."""

from harness import SafelaunchTest, main, torchrun

# Rank 0 works for four seconds in each way that it is told; the others wait for it, in init or in
# their first barrier.
WORKS = '''
import os
import pathlib
import subprocess
import sys
import time

import torch
import torch.distributed as dist

SECONDS = 5


def compute():
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        sum(range(100_000))


def read_and_write():
    """As a copy from a slow disk: half a megabyte, and a pause."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        path = pathlib.Path(sys.argv[1], "data")
        path.write_bytes(bytes(1 << 19))
        path.read_bytes()
        time.sleep(0.2)


def compile_extension():
    """As DeepSpeed's build of an op: the rank waits for a compiler that it has started."""
    compiler = pathlib.Path(sys.argv[1], "cc1plus")
    compiler.symlink_to("/bin/sh")
    loop = f"end=$(($(date +%s) + {SECONDS})); while [ $(date +%s) -lt $end ]; do :; done"
    subprocess.run([compiler, "-c", loop], check=True)


def prepare():
    for way in sys.argv[3:]:
        {"cpu": compute, "io": read_and_write, "compiler": compile_extension}[way]()


where = sys.argv[2]
rank = int(os.environ["RANK"])
if rank == 0 and where == "before-init":
    prepare()
dist.init_process_group("gloo")
if rank == 0 and where == "before-barrier":
    prepare()
dist.barrier()
dist.destroy_process_group()
'''


class AWorkingRank(SafelaunchTest):
    """Scene e."""

    def run_job(self, where, *ways):
        limits = ["--quiet-timeout", "3s", "--init-timeout", "4s", "--collective-timeout", "4s"]
        return self.run_safelaunch(
            *limits, *torchrun("--nproc-per-node", "3", self.script(WORKS), self.folder, where, *ways))

    def assert_waited_for(self, run):
        self.assert_status(run, 0)
        self.assertEqual(len(run.attempts), 1, str(run))
        self.assertNotIn("verdict", [event["e"] for event in run.events])
        self.assertGreater(run.seconds, 5)

    def status_lines(self, run):
        return [event["text"] for event in run.events if event["e"] == "status"]

    def test_is_waited_for_before_init_and_shown_as_working(self):
        run = self.run_job("before-init", "cpu", "io", "compiler")
        self.assert_waited_for(run)
        self.assertTrue(any("rank 0 (working" in line for line in self.status_lines(run)), str(run.events))
        self.assertEqual(run.err, "")

    def test_is_waited_for_in_the_first_barrier_and_shown_as_working(self):
        run = self.run_job("before-barrier", "cpu")
        self.assert_waited_for(run)
        self.assertTrue(any("rank 0 (working" in line for line in self.status_lines(run)), str(run.events))


if __name__ == "__main__":
    main()
