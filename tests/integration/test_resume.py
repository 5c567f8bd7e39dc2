"""Training that has failed goes on from a checkpoint of its own, where the profile says how."""

import json
import os
import signal
import sys

from harness import SafelaunchTest, main, torchrun, wait_until

# Saves every ten steps under another name and renames. A file fault-STEP-RANK says what goes wrong there, once.
TRAINS = """
import argparse, glob, os, signal, socket, sys, time
import torch, torch.distributed as dist
options = argparse.ArgumentParser()
options.add_argument("--resume", action="store_true")
dist.init_process_group("gloo")
def lose_peers():
    for number in os.listdir("/proc/self/fd"):
        try:
            one = socket.socket(fileno=os.dup(int(number)))
            if one.family in (socket.AF_INET, socket.AF_INET6) and one.getpeername(): one.shutdown(socket.SHUT_RDWR)
        except OSError: pass  # no socket, or not connected
rank, weights, first = dist.get_rank(), torch.zeros(4), 0
found = sorted(glob.glob("ckpt/step*.pt"), key=lambda name: int(name[9:-3]))
if options.parse_args().resume and found:
    weights, first = torch.load(found[-1])
    if rank == 0: sys.stdout.write("resumed at %d\\n" % first)
for step in range(first, 40):
    gradient = torch.randn(4, generator=torch.Generator().manual_seed(7 * step + rank))
    dist.all_reduce(gradient)
    weights = 0.9 * weights + gradient
    if rank == 0 and step % 10 == 9:
        torch.save((weights, step + 1), "tmp")
        os.makedirs("ckpt", exist_ok=True)
        os.rename("tmp", "ckpt/step%d.pt" % (step + 1))
    fault = "fault-%d-%d" % (step, rank)
    if os.path.exists(fault):
        with open(fault) as file: what = file.read()
        if not what.startswith("always"): os.remove(fault)
        if "killed" in what: os.kill(os.getpid(), signal.SIGKILL)
        if "raises" in what: raise ValueError("the script's own")
        if "peers" in what: lose_peers(); continue
        open("hangs", "w").close()
        while True: time.sleep(1)
if rank == 0: sys.stdout.write("trained to %s\\n" % weights.tolist())
sys.stdout.flush()
os._exit(0)  # torch's gloo sometimes aborts while the interpreter ends (pytorch/pytorch#190489)
"""
RESUMES = """
name: resumes
extends: basic
timeouts: {stall: 5s}
on_stall: restart
resume: {marker: 'ckpt/*.pt', append: [--resume]}
restarts: 1
"""
RETRIES = """
extends: basic
timeouts: {stall: 5s}
on_stall: restart
retry: {times: 3, backoff: 1s, factor: 2}
"""


# The user's second profile is what heals the start of this job.
HEALS = """
name: heals
extends: basic
env: {HEALS: 1}
"""


class Resume(SafelaunchTest):
    def trains(self, *options, profile=RESUMES, launcher=None, **faults):
        """The words of a run; a fault's key is step_STEP_RANK."""
        for where, what in faults.items():
            (self.folder / where.replace("step_", "fault-").replace("_", "-")).write_text(what)
        (self.folder / "resumes.yaml").write_text(profile)
        script = self.script(TRAINS)
        command = launcher(script) if launcher else ["--nproc-per-node", "2", "--", sys.executable, script]
        return ["--profile", "./resumes.yaml", *options, *command]

    def trained(self, run):
        return [line for line in run.out.splitlines() if line.startswith("trained to")]

    def test_killed_and_hung_training_ends_with_the_same_weights(self):
        bare = self.run_safelaunch(*self.trains())
        self.assert_status(bare, 0)
        for path in (self.folder / "ckpt").iterdir():
            path.unlink()
        run = self.run_safelaunch(*self.trains("--notify", "cat >> told", launcher=lambda script: ["--", *torchrun("--nproc_per_node", "2", script)],
                                               step_15_1="killed", step_33_0="hangs"))
        self.assert_status(run, 0)
        self.assertEqual(self.trained(run), self.trained(bare))
        self.assertEqual([attempt["end"] for attempt in run.attempts], ["failed", "stalled in training", "completed"], str(run))
        self.assertRegex(run.err, r"the training starts again from ckpt/step10\.pt, written .* ago(.|\n)*from ckpt/step30\.pt")
        self.assertEqual(run.out.count("resumed at 10"), 1)
        self.assertEqual(run.out.count("resumed at 30"), 1)
        self.assertNotIn("SignalException", json.dumps(run.outcome), "a complaint about our own TERM is no evidence")
        told = [json.loads(line)["event"] for line in (self.folder / "told").read_text().splitlines()]
        self.assertEqual(sorted(told), ["healed", "restarted", "restarted", "stalled"])

    def test_training_behind_a_healed_start_goes_on_as_the_first_profile_says(self):
        (self.folder / "heals.yaml").write_text(HEALS)
        starts = "import os, time\nwhile os.environ.get('HEALS') is None and os.environ['RANK'] == '0': time.sleep(1)\n"
        profile = RESUMES.replace("stall: 5s", "stall: 5s, init: 5s")
        words = self.trains("--profile", "./heals.yaml", profile=profile, step_25_1="hangs")
        (self.folder / "job.py").write_text(starts + TRAINS)
        run = self.run_safelaunch(*words)
        self.assert_status(run, 0)
        self.assertEqual([(attempt["profile"], attempt["end"]) for attempt in run.attempts],
                         [("resumes", "hung"), ("heals", "stalled in training"), ("heals", "completed")], str(run))
        self.assertEqual(run.out.count("resumed at 20"), 1)

    def test_without_a_new_checkpoint_it_starts_as_often_as_the_profile_says(self):
        run = self.run_safelaunch(*self.trains(step_15_1="always killed"))
        self.assert_status(run, 128 + signal.SIGKILL)
        self.assertEqual(len(run.attempts), 2, str(run))
        self.assertRegex(run.outcome["stopped_because"], r"^1 start from ckpt/step10\.pt brought no new checkpoint$")

    def test_before_the_first_checkpoint_nothing_starts_again(self):
        run = self.run_safelaunch(*self.trains(step_5_1="killed"))
        self.assert_status(run, 128 + signal.SIGKILL)
        self.assertEqual(run.outcome["stopped_because"], "no checkpoint is there (ckpt/*.pt)")

    def test_the_scripts_own_exception_is_no_reason_to_start_again(self):
        run = self.run_safelaunch(*self.trains(step_15_1="raises"))
        self.assertIn(run.status, (1, 128 + signal.SIGABRT), str(run))  # gloo sometimes aborts at the end of its rank
        self.assertEqual([attempt["cause"]["id"] for attempt in run.attempts], ["user-exception"], str(run))

    def test_a_checkpoint_that_was_written_when_training_failed_may_be_cut_off(self):
        run = self.run_safelaunch(*self.trains(profile=RESUMES.replace("marker:", "newer:"), step_10_0="killed"))
        self.assert_status(run, 128 + signal.SIGKILL)
        self.assertIn("ckpt/step10.pt was written within 5s before the training failed", run.outcome["stopped_because"])

    def test_training_that_loses_its_peers_or_hangs_is_started_again_as_it_was(self):
        run = self.run_safelaunch(*self.trains("--notify", "cat >> told", profile=RETRIES,
                                               step_15_1="loses its peers", step_25_0="loses its peers", step_33_0="hangs"))
        self.assert_status(run, 0)
        self.assertEqual([attempt["cause"]["id"] for attempt in run.attempts[:3]], ["peer-lost", "peer-lost", "training-stalled"],
                         str(run))
        self.assertEqual(len(self.trained(run)), 1)
        self.assertNotIn("resumed at", run.out)
        for number, pause in enumerate(("1s", "2s", "4s"), 1):
            self.assertIn(f"the training starts again with the same settings in {pause} ({number} of 3)", run.err)
        told = [json.loads(line)["event"] for line in (self.folder / "told").read_text().splitlines()]
        self.assertEqual(sorted(told), ["healed", "restarted", "restarted", "restarted", "stalled"])

    def test_it_is_started_again_as_often_as_the_profile_says(self):
        run = self.run_safelaunch(*self.trains(profile=RETRIES.replace("times: 3", "times: 1"), step_15_1="always killed"))
        self.assert_status(run, 128 + signal.SIGKILL)
        self.assertEqual(len(run.attempts), 2, str(run))
        self.assertEqual(run.outcome["stopped_because"], "1 start with the same settings did not help")

    def test_a_signal_during_the_pause_ends_it_at_once(self):
        with open(self.folder / "err", "wb") as err:
            job = self.start(*self.trains(profile=RETRIES.replace("1s", "1h"), step_15_1="killed"), stderr=err)
        wait_until(lambda: "in 1h (1 of 3)" in (self.folder / "err").read_text(), what="the pause")
        job.send_signal(signal.SIGTERM)
        run = self.finish(job)
        self.assert_status(run, 128 + signal.SIGTERM)
        self.assertEqual(len(run.attempts), 1, str(run))

    def test_nodes_that_do_not_agree_are_refused(self):
        for profile, options in ((RETRIES, ["--rendezvous", "none"]), (RESUMES, [])):
            with self.subTest(profile):
                run = self.run_safelaunch(*self.trains(*options, profile=profile, launcher=lambda script: [
                    "--", *torchrun("--nnodes", "2", "--nproc_per_node", "2", script)]))
                self.assert_status(run, 64)
                self.assertIn("that needs the other nodes' agreement", run.err)
                self.assertFalse(os.path.exists(run.directory))

    def test_what_a_person_ends_does_not_start_again(self):
        job = self.start(*self.trains("--stall-timeout", "1h", step_15_1="hangs"))
        wait_until((self.folder / "hangs").exists, what="the hang")
        job.send_signal(signal.SIGTERM)
        run = self.finish(job)
        self.assert_status(run, 128 + signal.SIGTERM)
        self.assertEqual(len(run.attempts), 1, str(run))

    def test_a_command_whose_script_is_not_known_is_refused_before_it_trains(self):
        run = self.run_safelaunch(*self.trains(launcher=lambda script: ["--", "sh", "-c", f"{sys.executable} {script}"]))
        self.assert_status(run, 64)
        self.assertIn("cannot tell where the script begins in this command", run.err)


if __name__ == "__main__":
    main()
