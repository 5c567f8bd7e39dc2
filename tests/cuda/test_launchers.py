"""The launchers and frameworks that people use, on two to four "GPUs": a hung first collective is healed, and the job trains to its end.

That healthy ones are left alone, byte for byte, is tried by the healthy programs (tests/faults/bench.py --cuda).
KIND=deepspeed in the environment runs the one of that name alone.
"""

import os

from over_doubles import JOBS, PYTHON, CudaTest, free_port, main, note, spawned, torchrun

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


class Launched(CudaTest):
    def play(self, fault, check, options=(), without=()):
        def work(name):
            command, kind = LAUNCHED[name]
            by_spawn = {"BY_SPAWN": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())} if name == "mp.spawn" else {}
            run = self.run_job(*options, *command(), fault=fault, gpus=RANKS.get(kind, 2), KIND=kind, HF_HUB_OFFLINE="1",
                               TRANSFORMERS_VERBOSITY="error", HF_HOME=str(self.folder), **by_spawn)
            first = run.attempts[0] if run.attempts else {}
            note(fault=fault, kind=name, status=run.status, cause=(first.get("cause") or {}).get("id"), seconds=first.get("seconds"),
                 profiles=[one["profile"] for one in run.attempts], took=round(run.seconds, 1))
            return lambda: check(run, RANKS.get(kind, 2))

        self.each([name for name, (_, kind) in LAUNCHED.items() if name in os.environ.get("KIND", name) and kind not in without], work)

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

        self.play("no-kernel", check, options=["--profile", "basic,gloo-fallback"], without=NOT_OVER_GLOO)


if __name__ == "__main__":
    main()
