"""The verbs over torch's own CUDA build and the doubles of the device: they agree on the GPUs, and tell what ranks do on them."""

import json
import os
import subprocess

from over_doubles import PYTHON, SAFELAUNCH, SafelaunchTest, main, over_doubles, wait_until

# Rank 0 ends the training of all, once the test has seen enough.
TRAINS = """
import os, time, torch, torch.distributed as dist
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
ones = torch.ones(1024).cuda()
going_on = torch.ones(1)
while going_on.item() > 0:
    dist.all_reduce(ones, async_op=True).wait()
    going_on.fill_(0 if dist.get_rank() == 0 and os.path.exists(os.environ["ENOUGH"]) else 1)
    shared = going_on.cuda()
    dist.broadcast(shared, 0, async_op=True).wait()
    torch.cuda.synchronize()
    going_on = shared.cpu()
    time.sleep(0.05)
dist.destroy_process_group()
"""


class Verbs(SafelaunchTest):
    def over_doubles(self, gpus=2, **more):
        return self.environment(**over_doubles(gpus=gpus), TMPDIR=str(self.folder), **more)

    def told(self, *words, **environment):
        return subprocess.run([SAFELAUNCH, *words], env=self.over_doubles(**environment), cwd=self.folder, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=300)

    def test_ranks_of_a_trial_reduce_on_the_gpus_over_nccl(self):
        trial = self.told("test", "--json", "--backend", "nccl,gloo", "--", PYTHON, gpus=3)
        self.assertEqual(trial.returncode, 0, trial.stdout + trial.stderr)
        nccl, gloo = json.loads(trial.stdout)["backends"]
        self.assertEqual((nccl["works"], nccl["ranks"], nccl["device"]), (True, 3, "NVIDIA H100 80GB HBM3"))
        self.assertEqual((gloo["works"], gloo["ranks"], gloo["device"]), (True, 3, "cpu"))

    def test_trial_doctor_and_probe_count_the_same(self):
        for environment, count in [({}, 2), ({"CUDA_VISIBLE_DEVICES": "1"}, 1)]:
            with self.subTest(environment):
                doctor = json.loads(self.told("doctor", "--json", "--", PYTHON, "train.py", **environment).stdout)
                seen = next(theme["seen"] for theme in doctor["looked_at"] if theme["what"] == "gpus")
                self.assertTrue(seen.startswith(f"{count} "), seen)
                probe = self.told("probe", "--json", "--profile", "basic", "--", PYTHON, **environment)
                self.assertEqual(len(json.loads(probe.stdout)["gpus"]), count, probe.stderr)
                trial = self.told("test", "--json", "--backend", "nccl", "--", PYTHON, **environment)
                self.assertEqual(json.loads(trial.stdout)["backends"][0]["ranks"], count, trial.stdout)

    def test_status_tells_the_memory_on_gpus_and_stacks_the_ranks(self):
        enough = self.folder / "enough"
        # NVML's double lays memory on GPU 0 for one process: the rank itself, which only then becomes Python.
        rank = 'SAFELAUNCH_DOUBLE_NVML=busy:$$:2048 exec "$@"'
        job = self.start("--nproc-per-node", "2", "--", "sh", "-c", rank, "sh", PYTHON, self.script(TRAINS),
                         env=self.over_doubles(ENOUGH=str(enough)))
        found = []

        def trains():
            found[:] = json.loads(self.told("status", "--json").stdout)
            return found and found[0]["training"] and "gpu_mib" in found[0]["ranks"].get("0", {})

        try:
            wait_until(trains, seconds=120, what="training on GPUs, told by status")
            self.assertEqual(found[0]["ranks"]["0"]["gpu_mib"], 2048)
            self.assertEqual([(gpu["gpu"], gpu["used_mib"]) for gpu in found[0]["gpus"]], [(0, 2048), (1, 0)])
            stacks = self.told("stacks").stdout
            self.assertIn("in training", stacks)
            self.assertRegex(stacks, r"\.py:\d+ <module>")
        finally:
            enough.touch()
            run = self.finish(job)
        self.assert_status(run, 0)


if __name__ == "__main__":
    main()
