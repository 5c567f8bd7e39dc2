"""The launchers and frameworks that people use, on two to four "GPUs": a hung first collective is healed, and the job trains to its end.

That healthy ones are left alone, byte for byte, is tried by the healthy programs (tests/faults/bench.py --cuda).
KIND=deepspeed in the environment runs the one of that name alone. With SAFELAUNCH_SOAK=1 every launcher trains every kind; else
one that adds neither a launcher nor a framework to the others is left out.
"""

import fcntl
import os
import pathlib
import shutil
import subprocess
import time

from over_doubles import APART, DEADLINES, JOBS, PYTHON, SOAK, CudaTest, free_port, main, note, spawned, torchrun, wait_until

JOB = str(JOBS / "train.py")


def accelerate(*words):
    return [PYTHON, "-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes=2", "--num_machines=1", "--mixed_precision=no",
            "--dynamo_backend=no", f"--main_process_port={free_port()}", *words]


def deepspeed(*words):
    return [PYTHON, "-m", "deepspeed.launcher.runner", "--num_gpus=2", f"--master_port={free_port()}", *words]


# name: the command, and the job's KIND
LAUNCHED = {
    "torchrun": (lambda: torchrun(JOB), "ddp"),
    "own spawn": (lambda: spawned(JOB), "ddp"),
    "mp.spawn": (lambda: [PYTHON, JOB], "ddp"),
    "accelerate": (lambda: accelerate(JOB), "accelerate"),
    "deepspeed": (lambda: deepspeed(JOB), "deepspeed"),
    "torchrun, deepspeed's engine": (lambda: torchrun(JOB), "deepspeed"),
    "torchrun, HF Trainer": (lambda: torchrun(JOB), "hf_trainer"),
    "Lightning": (lambda: [PYTHON, JOB], "lightning"),
    "torchrun, FSDP2 and tensor parallel": (lambda: torchrun(JOB, ranks=4), "fsdp2_and_tensor_parallel"),
}
RANKS = {"fsdp2_and_tensor_parallel": 4}
# ZeRO-1 over gloo, with tensors of a double's GPU, stood still in its second step: rank 0 in backward, rank 1 in step.
NOT_OVER_GLOO = {"deepspeed"}


ADDS_NOTHING = {"torchrun", "own spawn", "torchrun, deepspeed's engine"}
# The ranks' own program decides there.
ADDS_NOTHING_OVER_GLOO = ADDS_NOTHING | {"mp.spawn", "torchrun, FSDP2 and tensor parallel"}


class Launched(CudaTest):
    def play(self, fault, check, options=(), without=(), twice=ADDS_NOTHING):
        def work(name):
            command, kind = LAUNCHED[name]
            by_spawn = {"BY_SPAWN": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())} if name == "mp.spawn" else {}
            run = self.run_job(*options, *command(), fault=fault, gpus=RANKS.get(kind, 2), KIND=kind, HF_HUB_OFFLINE="1",
                               TRANSFORMERS_VERBOSITY="error", HF_HOME=str(self.folder), **by_spawn)
            first = run.attempts[0] if run.attempts else {}
            note(fault=fault, kind=name, status=run.status, cause=(first.get("cause") or {}).get("id"), seconds=first.get("seconds"),
                 profiles=[one["profile"] for one in run.attempts], took=round(run.seconds, 1))
            return lambda: check(run, RANKS.get(kind, 2))

        chosen = LAUNCHED.keys() if SOAK else LAUNCHED.keys() - twice
        chosen = {os.environ["KIND"]} if "KIND" in os.environ else chosen
        self.each([name for name, (_, kind) in LAUNCHED.items() if name in chosen and kind not in without], work)

    def test_broken_peer_to_peer_copies_are_healed(self):
        def check(run, ranks):
            self.assert_hung(run, "gpu-p2p", says=r"\.py:\d+ ")
            self.assert_status(run, 0)
            self.assertEqual([one["profile"] for one in run.attempts], ["basic", "no-p2p"], str(run))
            self.assertEqual(run.out.count("trained"), ranks, str(run))
            self.assertEqual(run.out.count("with nccl"), ranks, str(run))

        self.play("p2p-hang", check)

    def test_what_nothing_heals_over_nccl_trains_over_gloo(self):
        """No profile changes a kernel that never ends, but gloo-fallback does without it."""
        def check(run, ranks):
            self.assert_status(run, 0)
            self.assertEqual(run.out.count("with gloo"), ranks, str(run))

        self.play("no-kernel", check, options=["--profile", "basic,gloo-fallback"], without=NOT_OVER_GLOO,
                  twice=ADDS_NOTHING_OVER_GLOO)


TOLD = "stood still for "
HOUR = 3600
BUILDS = "from deepspeed.ops.op_builder import CPUAdamBuilder; CPUAdamBuilder().load(verbose=False)"


def waits_until_the_lock_is_gone():
    """Up to torch 2.13 the lock of a build is a file that is there. Later the kernel holds it, as long as the builder lives."""
    (source,) = pathlib.Path(PYTHON).parents[1].glob("lib/python3*/site-packages/torch/utils/cpp_extension.py")
    return "FileBaton" in source.read_text()


class DeepSpeedBeforeItsFirstCollective(CudaTest):
    """"Setting ds_accelerator to cuda (auto detect)", and then not a word more."""

    def setUp(self):
        super().setUp()
        self.extensions = self.folder / "extensions"
        self.lock = self.extensions / "cpu_adam/lock"

    def build(self):
        """A folder of extensions of our own, with the optimizer's; it takes a minute once, and is kept for later runs."""
        environment = super().environment()
        subprocess.run([PYTHON, "-c", BUILDS], env=environment, check=True, capture_output=True, timeout=600)
        shutil.copytree(environment["TORCH_EXTENSIONS_DIR"] + "/cpu_adam", self.lock.parent)
        self.lock.touch()

    def begin(self, kind, *options, apart=(), **variables):
        environment = self.environment(KIND=kind, TORCH_EXTENSIONS_DIR=str(self.extensions), **variables)
        with (self.folder / "stderr").open("w") as said:
            return self.start(*DEADLINES, *options, *deepspeed(JOB), apart=apart, env=environment, stderr=said)

    def said(self):
        return (self.folder / "stderr").read_text()

    def assert_trained(self, run):
        self.assert_status(run, 0)
        self.assertEqual(run.out.count("trained"), 2, str(run))
        self.assertEqual(len(run.attempts), 1, str(run))

    def test_a_lock_that_a_dead_build_left_is_removed_where_torch_waits_for_it(self):
        self.build()
        os.utime(self.lock, (time.time() - HOUR,) * 2)
        run = self.finish(self.begin("deepspeed_offload", apart=APART), 240)
        self.assert_trained(run)
        waited = waits_until_the_lock_is_gone()
        self.assertEqual(f"removed: {self.lock} " in self.said(), waited, self.said())
        self.assertEqual(TOLD in self.said(), waited, self.said())

    def test_a_lock_that_a_living_process_holds_is_told_with_its_holder_and_the_job_goes_on(self):
        self.build()
        with self.lock.open() as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            job = self.begin("deepspeed_offload")
            try:
                wait_until(lambda: TOLD in self.said() or job.poll() is not None, what="the line")
                self.assertIsNone(job.poll(), self.said())
                self.assertTrue(self.lock.exists())
            finally:
                self.lock.unlink() if waits_until_the_lock_is_gone() else fcntl.flock(held, fcntl.LOCK_UN)
                run = self.finish(job, 240)
        self.assert_trained(run)
        line = next(line for line in self.said().splitlines() if TOLD in line)
        self.assertRegex(line, rf"ranks? 0 .*in train\.py:\d+ deepspeed_offload → \w+\(lock={self.lock}\)")
        holder = rf"(somebody has it open|held by pid {os.getpid()} )"
        self.assertRegex(self.said(), rf"the lock of an extension's build: {self.lock} \(\d.* old, {holder}")
        self.assertNotIn("removed: ", self.said())

    def test_a_start_that_may_wait_so_long_for_a_lock_is_ended_with_124(self):
        self.build()
        with self.lock.open() as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            run = self.finish(self.begin("deepspeed_offload", "--only", "--start-timeout", "6s"), 240)
        self.assert_status(run, 124)
        self.assert_hung(run, "start-stuck", says=rf"ranks? 0 .*in train\.py:\d+ deepspeed_offload → \w+\(lock={self.lock}\)")

    def test_a_rank_that_never_comes_to_init_is_named(self):
        run = self.finish(self.begin("deepspeed", FAULT="absent-before-init"), 240)
        self.assert_status(run, 124)
        self.assert_hung(run, "rank-missing", says=r"^Rank 1 was missing.* in train\.py:\d+ never_comes")


if __name__ == "__main__":
    main()
