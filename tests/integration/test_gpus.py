"""What the driver tells of GPUs, asked through the doubles of NVML and libcuda: the facts, what `clean` makes of them, and
that doctor, test, probe, init and dry runs agree on how many GPUs are here."""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import time
import unittest

from harness import SAFELAUNCH, SafelaunchTest, main

BUILD = pathlib.Path(SAFELAUNCH).resolve().parents[2]
DOUBLES = BUILD / "tests/doubles/lib"
PROBE = BUILD / "launcher/probe/safelaunch-probe"


def setUpModule():
    if not (DOUBLES / "libnvidia-ml.so.1").exists() or not PROBE.exists():
        raise unittest.SkipTest("safelaunch-probe or the double of NVML is not built")


# The run asks for the state of the GPUs while the job starts; a probe of our own takes as long as its answer.
FAILS_AND_LEAVES_A_KERNEL = f"""
import pathlib, subprocess, sys, time
sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})
import light_worker
hook = light_worker.Hook()
hook.tell("imported", lib="torch", version="2.13.0")
hook.tell("init.enter", backend="nccl", backend_used="nccl", timeout_s=1800, init_method="env://")
while not pathlib.Path(sys.argv[1] + ".asked").exists():
    time.sleep(0.02)
subprocess.run([sys.argv[2], "gpus"], stdout=subprocess.DEVNULL)
pathlib.Path(sys.argv[1]).touch()
sys.exit("NCCL WARN Error while creating shared memory segment /dev/shm/nccl-x (size 9637888)")
"""


class Gpus(SafelaunchTest):
    def with_driver(self, trouble="", gpus=2, **more):
        return self.environment(LD_LIBRARY_PATH=str(DOUBLES), SAFELAUNCH_DOUBLE_NVML=trouble,
                                SAFELAUNCH_DOUBLE_GPUS=str(gpus), **more)

    def facts(self, trouble="", gpus=2):
        """Driver, and GPUs, and the error of `safelaunch-probe gpus`."""
        result = subprocess.run([PROBE, "gpus"], env=self.with_driver(trouble, gpus), text=True, capture_output=True,
                                timeout=60)
        lines = [json.loads(line) for line in result.stdout.splitlines()]
        return lines, [line["gpu"] for line in lines if "gpu" in line]

    def clean(self, trouble, *words, **more):
        return subprocess.run([SAFELAUNCH, "clean", *words], env=self.with_driver(trouble, **more), text=True,
                              capture_output=True, timeout=60)

    def setUp(self):
        super().setUp()
        self.sleepers = []

    def tearDown(self):
        for process in self.sleepers:
            process.kill()
            process.wait()
        super().tearDown()

    def sleeper(self, session=False, **environment):
        self.sleepers.append(subprocess.Popen(["sleep", "1000"], env=self.environment(**environment), start_new_session=session))
        return self.sleepers[-1]

    def test_every_gpu_is_told_with_its_links_and_its_ways_to_the_others(self):
        lines, gpus = self.facts(gpus=8)
        self.assertEqual(lines[0], {"driver": "580.65.06", "cuda": "13.0"})
        self.assertEqual(lines[-1], {"done": True})
        self.assertEqual([gpu["index"] for gpu in gpus], list(range(8)))
        for gpu in gpus:
            self.assertEqual(len(gpu["links"]), 18)
            self.assertEqual([path["to"] for path in gpu["paths"]], [i for i in range(8) if i != gpu["index"]])
            self.assertEqual({path["p2p_read"] for path in gpu["paths"]}, {"ok"})
            self.assertEqual((gpu["health"], gpu["compute_mode"], gpu["fabric"]), ("well", "shared", "completed"))

    def test_what_is_wrong_with_a_gpu_is_told_of_that_one_alone(self):
        for trouble, name, value, otherwise in [("lost", "health", "lost", "well"),
                                                ("exclusive", "compute_mode", "exclusive-process", "shared"),
                                                ("fabric", "fabric", "in-progress", "completed"),
                                                ("ecc", "repair_pending", True, False),
                                                ("mig", "mig", True, False)]:
            with self.subTest(trouble):
                _, gpus = self.facts(trouble)
                self.assertEqual([gpu[name] for gpu in gpus], [value, otherwise])

    def test_a_driver_that_cannot_be_asked_says_why(self):
        self.assertEqual(self.facts("mismatch")[0][-1], {"error": "Driver/library version mismatch", "code": 18})
        self.assertEqual(self.facts("none")[0][-1]["code"], 9)

    # Dry runs all: the leftovers of tests that run beside this one are not ours to end.

    def test_clean_finds_the_leftover_that_holds_memory_and_says_how_much(self):
        gone = self.run_safelaunch("sh", "-c", "echo $SAFELAUNCH_OWNER").out.strip()
        leftover = self.sleeper(session=True, SAFELAUNCH_RUN_ID="r1", SAFELAUNCH_OWNER=gone)  # as if we had adopted it
        listed = self.clean(f"busy:{leftover.pid}:4096", "--dry-run").stdout
        self.assertIn(f"would be ended: pid {leftover.pid} (sleep 1000)", listed)
        self.assertIn("holds 4096 MiB of GPU 0", listed)

    def test_clean_lists_a_stranger_that_holds_memory_and_leaves_it_alone(self):
        stranger = self.sleeper()
        found = json.loads(self.clean(f"busy:{stranger.pid}:4096", "--dry-run", "--json", "--policy", "orphans").stdout)
        entry = next(process for process in found if process.get("pid") == stranger.pid)
        self.assertEqual((entry["holds"], entry["done"]), (["4096 MiB of GPU 0"], "left alone"))

    def test_clean_does_not_hang_with_the_driver(self):
        began = time.monotonic()
        result = self.clean("hang", "--dry-run")
        self.assertLess(time.monotonic() - began, 30)
        self.assertEqual(result.returncode, 0)
        self.assertIn("safelaunch cannot tell who uses GPU memory: the driver does not answer within 3s", result.stderr)

    def test_clean_outlives_a_driver_that_crashes(self):
        result = self.clean("crash", "--dry-run")
        self.assertEqual(result.returncode, 0)
        self.assertIn("asking the driver failed: killed by SIGSEGV", result.stderr)

    def test_nothing_is_started_into_a_gpu_on_which_a_kernel_of_the_attempt_still_hangs(self):
        spins = self.folder / "spins"
        job = self.script(FAILS_AND_LEAVES_A_KERNEL)
        words = ["--profile", "basic,no-shm", "--probe", "never", "--nproc-per-node", "2", "--", sys.executable, job, spins, PROBE]
        run = self.run_safelaunch(*words, env=self.with_driver(f"spins:{spins}"))
        self.assert_status(run, 1)
        self.assertEqual(len(run.attempts), 1, str(run))
        self.assertRegex(run.outcome["stopped_because"], r"^GPU 0 computes \(100 %\) although no process is on it any more; .*--gpu-reset -i 0$")
        again = self.run_safelaunch(*words, env=self.with_driver(f"spins:{spins}"))  # it was so before: who knows why
        self.assertGreater(len(again.attempts), 1, str(again))
        elsewhere = self.run_safelaunch(*words, env=self.with_driver(f"spins:{spins}", CUDA_VISIBLE_DEVICES="1"))
        self.assertGreater(len(elsewhere.attempts), 1, str(elsewhere))

    def test_clean_without_a_driver_says_nothing_of_it(self):
        result = subprocess.run([SAFELAUNCH, "clean", "--dry-run"], env=self.environment(), text=True,
                                capture_output=True, timeout=60)
        self.assertNotIn("driver", result.stderr)


class HowManyAreHere(SafelaunchTest):
    """libcuda decides: this host has no device file of NVIDIA's, as WSL2 has none."""

    def with_driver(self, gpus=2, **more):
        return self.environment(LD_LIBRARY_PATH=str(DOUBLES), SAFELAUNCH_DOUBLE_GPUS=str(gpus), **more)

    def told(self, *words, timeout=120, **environment):
        return subprocess.run([SAFELAUNCH, *words], env=self.with_driver(**environment), cwd=self.folder, stdin=subprocess.DEVNULL,
                              text=True, capture_output=True, timeout=timeout)

    def doctor(self, *command, **environment):
        """What stands behind "gpus", whether it is well, and the findings by cause."""
        told = json.loads(self.told("doctor", "--json", *command, **environment).stdout)
        gpus = next(theme for theme in told["looked_at"] if theme["what"] == "gpus")
        return gpus["seen"], gpus["ok"], {one["id"]: one["severity"] for one in told["findings"]}

    def test_every_verb_finds_the_same_gpus_without_a_device_file(self):
        for environment, count in [({"gpus": 3}, 3), ({"gpus": 3, "CUDA_VISIBLE_DEVICES": "2"}, 1),
                                   ({"gpus": 2, "SAFELAUNCH_DOUBLE_NVML": "none"}, 2)]:
            with self.subTest(environment):
                self.assertRegex(self.doctor(**environment)[0], rf"^{count} (of 3 )?GPUs? \(NVIDIA H100 80GB HBM3\)")
                probe = self.told("probe", "--profile", "basic", "--json", "--nccl", DOUBLES / "libnccl.so.2", **environment)
                self.assertEqual(len(json.loads(probe.stdout)["gpus"]), count, probe.stderr)
                self.told("init", "--yes", "--force", **environment)
                self.assertRegex((self.folder / "safelaunch.yaml").read_text(), rf"nproc.per.node(=|: ){count}\b")
                (self.folder / "safelaunch.yaml").unlink()

    @unittest.skipUnless(importlib.util.find_spec("torch"), "this Python has no torch")
    def test_a_trial_puts_a_rank_on_each_gpu(self):
        trial = json.loads(self.told("test", "--json", "--backend", "nccl", "--", sys.executable, gpus=3).stdout)
        (nccl,) = trial["backends"]
        self.assertEqual((nccl["tried"], nccl["ranks"]), (True, 3))
        self.assertIn("import", [step["step"] for step in nccl["steps"]])

    def test_a_command_for_more_ranks_than_gpus_is_told_so(self):
        _, _, findings = self.doctor("--", "torchrun", "--nproc-per-node", "4", "train.py")
        self.assertEqual(findings.get("device-ordinal"), "risk")
        _, _, findings = self.doctor("--", "torchrun", "--nproc-per-node", "2", "train.py")
        self.assertNotIn("device-ordinal", findings)

    def test_gpus_that_a_variable_hides_are_none(self):
        seen, well, findings = self.doctor(CUDA_VISIBLE_DEVICES="-1")
        self.assertEqual((seen, well), ("no GPU here: CUDA_VISIBLE_DEVICES=-1 hides all 2", True))
        self.assertNotIn("no-gpu", findings)

    def test_gpus_of_which_cuda_gets_none_are_a_finding(self):
        seen, well, findings = self.doctor(SAFELAUNCH_DOUBLE_CUDA="none")
        self.assertRegex(seen, "^no GPU here: cuInit: CUDA_ERROR_NO_DEVICE")
        self.assertEqual((well, findings["no-gpu"]), (False, "risk"))

    def test_a_driver_that_crashes_blocks_and_crashes_nobody(self):
        seen, well, findings = self.doctor(SAFELAUNCH_DOUBLE_CUDA="crash")
        self.assertEqual((seen, well), ("not counted: the CUDA driver gave no answer: killed by SIGSEGV", False))
        self.assertEqual(findings["gpu-ill"], "blocks")

    def test_a_driver_that_hangs_holds_nobody_up_beyond_its_deadline(self):
        seen, well, findings = self.doctor(SAFELAUNCH_DOUBLE_NVML="hang", SAFELAUNCH_DOUBLE_CUDA="hang")
        self.assertEqual((seen, well), ("not counted: the driver does not answer within 3s", False))
        self.assertEqual(findings["driver-silent"], "blocks")

    def test_a_host_where_nothing_speaks_for_a_gpu_starts_no_process_to_ask(self):
        if any(map(os.path.exists, ["/dev/nvidiactl", "/dev/nvidia0", "/dev/dxg", "/dev/kfd"])):
            self.skipTest("this host may have a GPU")
        asked = self.folder / "asked"
        program = self.script(f'#!/bin/sh\ntouch {asked}\nexec {PROBE} "$@"\n', "probe")
        environment = self.environment(SAFELAUNCH_PROBE_PROGRAM=program)
        for words in [["doctor"], ["--dry-run", "true"], ["true"]]:
            subprocess.run([SAFELAUNCH, *words], env=environment, capture_output=True, timeout=60)
            self.assertFalse(asked.exists(), words)
        subprocess.run([SAFELAUNCH, "doctor"], env=environment | {"LD_LIBRARY_PATH": str(DOUBLES)}, capture_output=True, timeout=60)
        self.assertTrue(asked.exists(), "a libcuda in reach is asked")

    def test_a_dry_run_does_not_rule_nccl_out_where_a_libcuda_is_in_reach(self):
        words = ["--dry-run", "--nproc-per-node", "2", "--", "true"]
        self.assertNotIn("reads NCCL's variables", self.told(*words).stdout)
        self.assertIn("reads NCCL's variables", self.run_safelaunch(*words).out)


if __name__ == "__main__":
    main(needs=())
