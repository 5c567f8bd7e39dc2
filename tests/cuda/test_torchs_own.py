"""torch's own machinery beside safelaunch: its watchdog, its ways to handle errors, its flight recorder, and NCCL's errors."""

import os
import subprocess
import unittest

from over_doubles import JOBS, SAFELAUNCH, CudaTest, forked, main, note, spawned, torchrun, wait_until

JOB = str(JOBS / "with_a_timeout.py")
# torch waits for a minute for its dump before it ends a process whose collective timed out.
SOON = {"TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC": "1000"}
GIVES_UP_ROOT = """
import os, torch, torch.distributed as dist

def give_up():
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)

torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
if os.environ["BEFORE"] == "True": give_up()
dist.init_process_group("nccl")
if os.environ["BEFORE"] == "False": give_up()
dist.all_reduce(torch.ones(4).cuda())
torch.cuda.synchronize()
print("passed", flush=True)
dist.destroy_process_group()
"""
STAYS_AWAY = """
import datetime, os, time, torch, torch.distributed as dist
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl", timeout=datetime.timedelta(seconds=5))
def stays_away(): time.sleep(600)
for step in range(30):
    if os.environ["RANK"] == "1" and step == 20: stays_away()
    dist.all_reduce(torch.ones(4).cuda())
torch.cuda.synchronize()
"""
OURS_LATER = ["--probe", "never"]  # the usual deadlines: torch's own of six seconds comes first


class TheWatchdog(CudaTest):
    def run_into(self, fault, options=OURS_LATER, **variables):
        run = self.run_job("--", *forked(JOB), fault=fault, options=options, **{**SOON, **variables})
        note(fault=fault, kind=" ".join(f"{name}={value}" for name, value in variables.items()), status=run.status,
             cause=self.cause(run).get("id"), seconds=run.attempts[0]["seconds"], profiles=[one["profile"] for one in run.attempts],
             took=round(run.seconds, 1))
        return run

    def test_what_it_ended_is_healed_by_what_the_hang_would_have_been_healed_by(self):
        def work(mode):
            run = self.run_into("p2p-hang", TORCH_NCCL_ASYNC_ERROR_HANDLING=mode)

            def check():
                self.assert_status(run, 0)
                self.assertEqual(run.attempts[0]["end"], "failed in communication", str(run))
                self.assertEqual((self.cause(run)["id"], self.cause(run)["certainty"]), ("gpu-p2p", "guess"), str(run))
                self.assertEqual([one["profile"] for one in run.attempts], ["basic", "no-p2p"], str(run))

            return check

        self.each(["1", "3"], work)

    def test_where_it_handles_nothing_the_hang_is_named(self):
        run = self.run_into("p2p-hang", options=[*OURS_LATER, "--collective-timeout", "12s"], TORCH_NCCL_ASYNC_ERROR_HANDLING="0")
        self.assert_status(run, 0)
        self.assertEqual(self.cause(run)["id"], "gpu-p2p", str(run))

    def test_where_it_only_clears_away_the_hang_is_named_before(self):
        # Afterwards the job goes on with what the aborted collective left in its tensors, and ends well.
        run = self.run_into("p2p-hang", options=[*OURS_LATER, "--collective-timeout", "2s"], TORCH_NCCL_ASYNC_ERROR_HANDLING="2")
        self.assert_status(run, 0)
        self.assertEqual(self.cause(run)["id"], "gpu-p2p", str(run))

    def test_where_torch_is_told_to_block_the_hang_is_healed(self):
        run = self.run_into("p2p-hang", options=[*OURS_LATER, "--collective-timeout", "12s"], TORCH_NCCL_BLOCKING_WAIT="1")
        self.assert_status(run, 0)
        self.assertEqual([one["profile"] for one in run.attempts], ["basic", "no-p2p"], str(run))

    def test_its_dump_is_left_where_the_user_wants_it(self):
        self.run_into("p2p-hang", options=[*OURS_LATER, "--only"], TORCH_FR_DUMP_TEMP_FILE=str(self.folder / "dump_"))
        self.assertEqual({path.name for path in self.folder.glob("dump_*")}, {"dump_0", "dump_1"})

    def test_without_a_flight_recorder_the_hang_is_named_with_its_place(self):
        run = self.run_job(*spawned(JOB), fault="no-kernel", TORCH_FR_BUFFER_SIZE="0", options=[*OURS_LATER, "--only", "--collective-timeout", "3s"])
        self.assert_hung(run, "gpu-p2p", says=r"with_a_timeout\.py:\d+ ")

    def test_a_communicator_that_does_not_block_hangs_as_any_other(self):
        run = self.run_job(*spawned(JOB), fault="p2p-hang", TORCH_NCCL_USE_COMM_NONBLOCKING="1", options=[*OURS_LATER, "--collective-timeout", "3s"])
        self.assert_status(run, 0)
        self.assertEqual(self.cause(run)["id"], "gpu-p2p", str(run))


class WhatADeviceSays(CudaTest):
    """Failures of a device, or of NCCL in the background, in the first collective."""

    def test_each_is_named(self):
        expected = {"ecc:1": ["gpu-ill"], "async-error:1": ["peer-lost", "comm-error", "nccl-unhandled"]}

        def work(fault):
            run = self.run_job(*spawned(JOB), fault=fault, options=[*OURS_LATER, "--collective-timeout", "20s"], **SOON)
            note(fault=fault, kind="device", status=run.status, cause=self.cause(run).get("id"), seconds=run.attempts[0]["seconds"],
                 profiles=[one["profile"] for one in run.attempts], took=round(run.seconds, 1))
            return lambda: self.assertIn(self.cause(run).get("id"), expected[fault], str(run))

        self.each(expected, work)


    def test_a_gpu_that_falls_off_the_bus_is_named_by_what_the_driver_says_afterwards(self):
        """torch has one word for it, "unknown error", and blames the line that happened to ask next."""
        def work(known):
            lost = self.folder / f"lost-{known}"
            lost.mkdir()
            told = {"SAFELAUNCH_DOUBLE_LOST": str(lost)} if known else {}
            run = self.run_job(*spawned(JOB), fault="device-lost:1@1", options=OURS_LATER, **told,
                               **SOON)
            note(fault="device-lost:1@1", kind=f"NVML knows: {known}", status=run.status, cause=self.cause(run).get("id"),
                 seconds=run.attempts[0]["seconds"], profiles=[one["profile"] for one in run.attempts], took=round(run.seconds, 1))

            def check():
                self.assertNotEqual(run.status, 0)
                self.assertEqual(len(run.attempts), 1, str(run))
                self.assertEqual(self.cause(run)["id"], "gpu-ill" if known else "device-failure", str(run))
                told = r"GPU \d .*is lost: it has fallen off the bus" if known else ""
                self.assertRegex(self.cause(run)["explanation"], "^Rank 1 .*" + told, str(run))

            return check

        self.each([True, False], work)


@unittest.skipUnless(os.geteuid() == 0, "only root can become another user")
class AsAnotherUser(CudaTest):
    def test_ranks_that_give_up_root_leave_NCCLs_log_out_of_the_jobs_output(self):
        """They cannot open a file in the run's folder, and NCCL then writes to stdout."""
        self.folder.chmod(0o755)
        for before in (True, False):
            with self.subTest("before init" if before else "after init"):
                run = self.run_job(*spawned(self.script(GIVES_UP_ROOT)), BEFORE=str(before))
                self.assertEqual((run.status, run.out), (0, "passed\npassed\n"), str(run))
                self.assertEqual(run.err, "", str(run))


class InTraining(CudaTest):
    def test_a_hang_in_the_tenth_collective_is_told_and_nothing_is_started_again(self):
        run = self.run_job(*spawned(JOB), fault="hang-in:10", STEPS="20", options=[*OURS_LATER, "--stall-timeout", "5s"],
                           TORCH_NCCL_ASYNC_ERROR_HANDLING="3", **SOON)
        self.assertNotEqual(run.status, 0)
        self.assertEqual(len(run.attempts), 1, str(run))
        self.assertIn("training", [event["e"] for event in run.events])

    def test_the_rank_for_which_the_watchdog_gave_up_is_named_with_its_place(self):
        run = self.run_job(*torchrun(self.script(STAYS_AWAY)), options=OURS_LATER, **SOON)
        self.assert_status(run, 134)
        self.assertEqual(run.attempts[0]["end"], "stalled in training", str(run))
        cause = self.cause(run)
        self.assertEqual((cause["id"], cause["certainty"]), ("training-stalled", "confirmed"), str(run))
        self.assertRegex(cause["places"][0], r"job\.py:5 in stays_away", str(run))
        self.assertIn("Rank 1 never called all_reduce, collective 21", cause["explanation"], str(run))

    def test_a_hang_in_backward_is_told_with_its_place_and_its_collective(self):
        """Of the collectives that backward calls, the tenth of the process never ends."""
        profile = self.folder / "ended.yaml"
        profile.write_text("name: ended\nextends: basic\non_stall: kill\ntimeouts: {stall: 5s}\n")

        def work(how):
            run = self.run_job(*spawned(str(JOBS / "backward.py")), fault="hang-in:10", HOW=how,
                               options=[*OURS_LATER, "--profile", str(profile)])
            note(fault="hang-in:10", kind=f"backward: {how}", status=run.status, cause=self.cause(run).get("id"),
                 seconds=run.attempts[0]["seconds"], profiles=[one["profile"] for one in run.attempts], took=round(run.seconds, 1))

            def check():
                self.assert_status(run, 124)
                self.assertEqual(self.cause(run)["id"], "training-stalled", str(run))
                self.assertRegex(run.err, r"training stands still: .*in backward\.py:\d+ step → synchronize")
                self.assertRegex(run.err, r"all_reduce, collective \d+ of group ")

            return check

        self.each(["ddp", "hook"], work)

    def test_stacks_and_status_tell_the_collective_that_hangs(self):
        process = self.start(*OURS_LATER, *spawned(JOB), env=self.environment("hang-in:3", STEPS="5", TORCH_NCCL_ASYNC_ERROR_HANDLING="0"),
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        def told(*words):
            asked = subprocess.run([SAFELAUNCH, *words], env=self.environment(), capture_output=True, text=True, timeout=60)
            return asked.stdout

        try:
            wait_until(lambda: "2 collectives finished" in told("stacks", str(process.pid)), what="the third collective")
            self.assertIn("with_a_timeout.py:", told("stacks", str(process.pid)))
            self.assertIn("with_a_timeout.py:", told("status"))
        finally:
            process.terminate()
            process.wait()


if __name__ == "__main__":
    main()
