"""Segments in /dev/shm that a stopped attempt leaves behind: its own are removed, and nothing else."""

import json
import mmap
import pathlib
import signal
import subprocess
import sys

from harness import SAFELAUNCH, SafelaunchTest, main, wait_until
from own_mounts import old_file, own_shared_memory

SHM = pathlib.Path("/dev/shm")
LIGHT_WORKER = pathlib.Path(__file__).with_name("light_worker.py")

# Both ranks map what they were told to, then one never comes. Killed processes unlink nothing.
WORKER = f"""
import mmap, os, runpy, sys, time
rank = os.environ["RANK"]
held = []
for name in os.environ["MAPS"].split():
    file = open(f"/dev/shm/{{name}}".replace("RANK", rank), "a+b")
    file.truncate(1 << 20)
    held.append(mmap.mmap(file.fileno(), 1 << 20))
    file.close()
if rank == "1" and os.environ["SAFELAUNCH_ATTEMPT"] == "1":
    time.sleep(1000)
sys.argv = [{str(LIGHT_WORKER)!r}]
runpy.run_path({str(LIGHT_WORKER)!r}, run_name="__main__")
time.sleep(float(os.environ.get("TRAINS", "0")))
"""

# As vLLM: a shared memory that Python's resource tracker removes when all that use it have ended, and who heeds no TERM.
TRACKED = """
import multiprocessing.shared_memory, os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
memory = multiprocessing.shared_memory.SharedMemory(create=True, size=1 << 20)
open(os.environ["MADE"], "a").write(memory.name + "\\n")
if os.environ["RANK"] == "1":
    time.sleep(1000)
import torch.distributed
torch.distributed.init_process_group("gloo")
"""


def setUpModule():
    own_shared_memory()


class LeftSegments(SafelaunchTest):
    def tearDown(self):
        for path in SHM.iterdir():
            path.unlink()
        super().tearDown()

    def hung_job(self, maps):
        return self.run_safelaunch("--profile", "basic,conservative", "--quiet-timeout", "1s", "--init-timeout", "2s", "--nproc-per-node", "2",
                                   "--", "python3", self.script(WORKER), env=self.environment(MAPS=maps))

    def test_pythons_resource_tracker_removes_what_killed_ranks_have_left(self):
        made = self.folder / "made"
        run = self.run_safelaunch("--only", "--quiet-timeout", "1s", "--init-timeout", "2s", "--nproc-per-node", "2", "--", sys.executable,
                                  self.script(TRACKED), env=self.environment(MADE=str(made)))
        self.assert_status(run, 124)
        names = made.read_text().split()
        self.assertEqual((len(names), [name for name in names if (SHM / name).exists()]), (2, []))

    def removed(self, run):
        events = [json.loads(line) for line in (run.directory / "events.jsonl").read_text().splitlines()]
        return [sorted(event["removed"]) for event in events if event["e"] == "segments"]

    def test_what_an_attempt_leaves_is_gone_before_the_next_begins(self):
        run = self.hung_job("nccl-abcdeRANK deepspeed_allreduce_buffer_0_127.0.0.1_29500_RANK")
        self.assert_status(run, 0)
        self.assertEqual(self.removed(run), [[f"/dev/shm/{name}{rank}" for name in ("deepspeed_allreduce_buffer_0_127.0.0.1_29500_", "nccl-abcde") for rank in "01"]])

    def test_what_a_job_has_made_stays_once_it_has_trained(self):
        job = self.start("--nproc-per-node", "2", "--", "python3", self.script(WORKER.replace('== "1" and', '== "none" and')),
                         env=self.environment(MAPS="nccl-abcdeRANK", TRAINS="100"))
        events = job.run_directory / "events.jsonl"
        wait_until(lambda: events.exists() and '"e":"training"' in events.read_text(), what="the first collective of all ranks")
        job.send_signal(signal.SIGINT)
        run = self.finish(job)
        self.assertEqual(self.removed(run), [])
        self.assertEqual(sorted(path.name for path in SHM.iterdir()), ["nccl-abcde0", "nccl-abcde1"])
        self.cleans_what_the_run_has_recorded()

    def cleans_what_the_run_has_recorded(self):
        """What looks the same, and no run has recorded, may be another container's: it is listed."""
        for path in (*SHM.iterdir(), SHM / "nccl-Other1"):
            old_file(path)
        if subprocess.run(["stat", "-c", "%W", SHM / "nccl-Other1"], capture_output=True, check=True).stdout.strip() in (b"0", b"-"):
            self.skipTest("this kernel does not keep when a file in /dev/shm was made: one that was written to later is another one")
        listed = rf"(?m)^left alone: {SHM}/nccl-Other1 .* no run of safelaunch has recorded it .*`safelaunch clean --all-mine` removes it$"
        self.assertRegex(self.say("doctor"), r"shm-leaked: .* 3 files(?s:.*)help: safelaunch doctor --fix removes what runs of safelaunch have left; the rest: ")
        self.assertRegex(self.say("clean", "--dry-run"), listed)
        fixed = self.say("doctor", "--fix")
        self.assertRegex(fixed, rf"(?m)^fix: removed: {SHM}/nccl-abcde0 .*: left by safelaunch run \S+, which is over")
        self.assertEqual([path.name for path in SHM.iterdir()], ["nccl-Other1"], fixed)
        self.assertRegex(self.say("clean"), listed)
        self.assertRegex(self.say("clean", "--all-mine"), rf"(?m)^removed: {SHM}/nccl-Other1 ")
        self.assertEqual(list(SHM.iterdir()), [])

    def say(self, *words):
        return subprocess.run([SAFELAUNCH, *words], env=self.environment(), capture_output=True, text=True, timeout=60).stdout

    def test_what_is_not_proven_to_be_the_attempts_own_stays(self):
        old_file(SHM / "nccl-Older1")  # of another job
        strange = SHM / "nccl-Stran1"  # nobody of the job has it
        strange.write_bytes(b"x")
        shared = SHM / "nccl-Share1"  # somebody beside the job has it too
        shared.touch()
        with shared.open("r+b") as file:
            file.truncate(1 << 20)
            held = mmap.mmap(file.fileno(), 1 << 20)
        run = self.hung_job("torch_checkpoint.pt psm_1a2b3c4d nccl-Share1")
        self.assert_status(run, 0)
        self.assertEqual(self.removed(run), [])
        self.assertEqual(sorted(path.name for path in SHM.iterdir()), ["nccl-Older1", "nccl-Share1", "nccl-Stran1", "psm_1a2b3c4d", "torch_checkpoint.pt"])
        held.close()


if __name__ == "__main__":
    main(needs=())
