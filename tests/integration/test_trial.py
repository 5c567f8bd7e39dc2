"""`safelaunch test` on real ranks: what works, what hangs inside it, and a Python that has nothing."""

import importlib.util
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import unittest

from harness import APART, SAFELAUNCH, SafelaunchTest, main, wait_until

# It stands before the worker in each rank: rank 1 never makes its group.
NEVER_MEETS = """
import os, time
if os.environ.get("RANK") == "1":
    import torch.distributed
    def waits_for_ever(*words, **more):
        while True: time.sleep(3600)
    torch.distributed.init_process_group = waits_for_ever
"""


class Trial(SafelaunchTest):
    def command(self, *words):
        return [SAFELAUNCH, "test", *words]

    def trial(self, *words, apart=(), **more):
        environment = self.environment(TMPDIR=str(self.folder), **more)
        return subprocess.run([*apart, *self.command(*words)], env=environment, cwd=self.folder, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=300)

    def folder_with(self, name, text):
        folder = self.folder / "packages"
        folder.mkdir()
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
        return str(folder)

    def assert_nothing_left(self):
        self.assertEqual(list(self.folder.glob("safelaunch-test-*")), [])

    def test_gloo_works_and_the_line_to_use_is_told(self):
        trial = self.trial("--backend", "nccl,gloo", "--", sys.executable)
        if "NCCL       not tried: no GPU is here" not in trial.stdout:
            self.skipTest("this host has GPUs")
        self.assertRegex(trial.stdout, r"gloo       2 ranks  import ✓ device ✓ group ✓ all_reduce ✓ \(cpu\)")
        self.assertRegex(trial.stdout, r"python .*torch .*")
        self.assertIn("gloo works on this host\nuse: safelaunch torchrun --nproc_per_node=2 train.py\n", trial.stdout)
        self.assertEqual(trial.returncode, 69, "NCCL was asked for, and is not here")
        self.assert_nothing_left()

    def test_a_trial_for_programs(self):
        trial = self.trial("--backend=gloo", "--nproc-per-node=3", "--json", "--", sys.executable)
        self.assertEqual(trial.returncode, 0, trial.stdout + trial.stderr)
        told = json.loads(trial.stdout)
        (gloo,) = told["backends"]
        self.assertEqual((gloo["works"], gloo["ranks"]), (True, 3))
        self.assertEqual([step["step"] for step in gloo["steps"]], ["import", "device", "group", "all_reduce"])
        self.assertIn("torch", told["python"]["packages"])
        self.assertFalse(told["host"]["blocked"])

    @unittest.skipUnless(importlib.util.find_spec("jax"), "this Python has no JAX")
    def test_jax_works(self):
        trial = self.trial("--backend", "jax", "--", sys.executable)
        self.assertEqual(trial.returncode, 0, trial.stdout + trial.stderr)
        self.assertIn("import ✓ group ✓ device ✓ all_reduce ✓", trial.stdout)
        self.assertIn("JAX works on this host\n", trial.stdout)

    def test_a_rank_that_hangs_inside_is_named(self):
        folder = self.folder_with("sitecustomize.py", NEVER_MEETS)
        trial = self.trial("--backend", "gloo", "--init-timeout", "5s", "--", sys.executable, PYTHONPATH=folder)
        self.assertEqual(trial.returncode, 124, trial.stdout + trial.stderr)
        self.assertIn("import ✓ device ✓ group ✗ hangs", trial.stdout)
        self.assertRegex(trial.stdout, r"Rank 1 was .* sitecustomize.py:\d+ waits_for_ever")
        self.assertRegex(trial.stdout, r"\n {11}alone: ✓\n", "rank 0 meets itself")
        run = re.search(r"safelaunch report (\S+)", trial.stdout)[1]
        report = subprocess.run([SAFELAUNCH, "report", run], env=self.environment(), capture_output=True, text=True)
        self.assertIn("waits_for_ever", report.stdout)
        self.assert_nothing_left()

    def test_fewer_ranks_are_tried_until_they_work(self):
        folder = self.folder_with("sitecustomize.py", NEVER_MEETS.replace('"1"', '"2"'))
        trial = self.trial("--backend", "gloo", "--nproc-per-node", "4", "--try-processes", "8,3,2,1", "--init-timeout", "5s", "--json",
                           "--", sys.executable, PYTHONPATH=folder)
        self.assertEqual(trial.returncode, 124, trial.stdout + trial.stderr)
        told = json.loads(trial.stdout)
        (gloo,) = told["backends"]
        self.assertEqual([(one["ranks"], one["works"]) for one in gloo["fewer"]], [(3, False), (2, True)])
        self.assertEqual(told["use"], "safelaunch torchrun --nproc_per_node=2 train.py")
        wrong = self.trial("--try-processes", "4,many")
        self.assertEqual(wrong.returncode, 64)
        self.assertIn("--try-processes: 'many' is not a number of ranks, as in 8,4,2,1", wrong.stderr)

    def test_an_import_in_which_all_ranks_stand_still_is_a_hang(self):
        folder = self.folder_with("torch/__init__.py", "import time\nwhile True: time.sleep(3600)\n")
        trial = self.trial("--backend", "gloo", "--start-timeout", "3s", "--", sys.executable, PYTHONPATH=folder)
        self.assertEqual(trial.returncode, 124, trial.stdout + trial.stderr)
        self.assertRegex(trial.stdout, r"import ✗ hangs\n .*ranks 0 1 in __init__.py:2")

    def test_a_torch_that_cannot_be_imported_fails_in_its_own_words(self):
        folder = self.folder_with("torch/__init__.py", "raise ImportError('libcudart.so.13: cannot open shared object file')")
        trial = self.trial("--backend", "gloo", "--", sys.executable, PYTHONPATH=folder)
        self.assertEqual(trial.returncode, 1, trial.stdout + trial.stderr)
        self.assertRegex(trial.stdout, r"import ✗ fails\n +rank [01]: ImportError: libcudart.so.13")

    @unittest.skipUnless(importlib.util.find_spec("deepspeed"), "this Python has no DeepSpeed")
    def test_a_lock_that_the_run_removes_is_told(self):
        # The lock of a build that was cut off: every rank waits for it in deepspeed.init_distributed.
        lock = self.folder / "extensions/deepspeed_shm_comm/lock"
        lock.parent.mkdir(parents=True)
        lock.touch()
        os.utime(lock, (0, 0))
        trial = self.trial("--backend", "deepspeed", "--init-timeout", "5s", "--", sys.executable, apart=APART,
                           TORCH_EXTENSIONS_DIR=str(lock.parents[1]))
        self.assertRegex(trial.stdout, r"\n {11}removed: \S+/deepspeed_shm_comm/lock")
        self.assertFalse(lock.exists())

    def test_settings_that_would_run_nothing_do_not_mislead_it(self):
        (self.folder / "safelaunch.yaml").write_text("options: {dry-run: true, ranks: '7', nproc-per-node: 3, json: true}\n")
        trial = self.trial("--backend", "gloo", "--nproc-per-node", "2", "--", sys.executable, SAFELAUNCH_INTERACTIVE="1",
                           SAFELAUNCH_CONFIG="safelaunch.yaml")
        self.assertEqual(trial.returncode, 0, trial.stdout + trial.stderr)
        self.assertIn("gloo       2 ranks  import ✓ device ✓ group ✓ all_reduce ✓", trial.stdout)

    def test_a_python_that_does_not_answer_is_no_reason_to_wait(self):
        python = self.script("#!/bin/sh\necho no module named encodings >&2\nexit 1\n", "python3")
        trial = self.trial("--", python)
        self.assertEqual(trial.returncode, 69)
        self.assertIn("does not say what it has: exit status 1: no module named encodings", trial.stderr)

    def test_a_python_without_torch_and_jax_is_told(self):
        # -I -S: none of the packages are in reach, whatever this Python has.
        python = self.script(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n', "python3")
        trial = self.trial("--", python)
        self.assertEqual(trial.returncode, 69, trial.stdout + trial.stderr)
        self.assertIn("gloo       not tried: this Python has no torch\n", trial.stdout)
        self.assertIn("use: safelaunch test -- PYTHON", trial.stdout)
        self.assertIn("/dev/shm", trial.stdout, "the host was looked at all the same")

    def test_ctrl_c_ends_all_ranks_and_leaves_nothing(self):
        folder = self.folder_with("sitecustomize.py", NEVER_MEETS)
        process = subprocess.Popen(self.command("--backend", "gloo", "--", sys.executable), cwd=self.folder,
                                   env=self.environment(TMPDIR=str(self.folder), PYTHONPATH=folder), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        wait_until(lambda: list(pathlib.Path(self.folder).glob("safelaunch-test-*/gloo-2/rank-0")), what="a rank")
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        self.assertTrue(out.endswith(b"interrupted; all ranks have ended\n"), out)
        self.assert_nothing_left()


if __name__ == "__main__":
    main()
