"""Scene a: a job that fails in communication is healed by the next profile, without a change of its code."""

import sys

from harness import DDP, SafelaunchTest, main, torchrun

NCCL_JOB = ["--backend", "nccl", "--steps", "5"]


class Healing(SafelaunchTest):
    def assert_healed_by_gloo(self, run):
        self.assert_status(run, 0)
        self.assertEqual(run.outcome["worked_with"], "gloo-fallback", str(run))
        self.assertEqual(run.attempts[0]["end"], "failed in communication", str(run))
        self.assertEqual(run.attempts[0]["cause"]["id"], "nccl-not-built", str(run))
        self.assertEqual(len(run.attempts), 2, str(run))
        self.assertIn("with gloo: loss", run.out)

    def test_nccl_without_a_gpu_is_healed_under_torchrun(self):
        self.assert_healed_by_gloo(self.run_safelaunch(*torchrun("--nproc_per_node=2", DDP, *NCCL_JOB)))

    def test_nccl_without_a_gpu_is_healed_under_own_spawn(self):
        self.assert_healed_by_gloo(
            self.run_safelaunch("--nproc-per-node", "2", "--", sys.executable, DDP, *NCCL_JOB))


if __name__ == "__main__":
    main()
