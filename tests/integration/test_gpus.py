"""What NVML tells of GPUs, asked through the double of it: the facts, and what `clean` makes of them."""

import json
import pathlib
import subprocess
import time
import unittest

from harness import SAFELAUNCH, SafelaunchTest, main

BUILD = pathlib.Path(SAFELAUNCH).resolve().parents[2]
DOUBLES = BUILD / "tests/doubles/lib"
PROBE = BUILD / "launcher/probe/safelaunch-probe"


def setUpModule():
    if not (DOUBLES / "libnvidia-ml.so.1").exists() or not PROBE.exists():
        raise unittest.SkipTest("safelaunch-probe or the double of NVML is not built")


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

    def test_clean_without_a_driver_says_nothing_of_it(self):
        result = subprocess.run([SAFELAUNCH, "clean", "--dry-run"], env=self.environment(), text=True,
                                capture_output=True, timeout=60)
        self.assertNotIn("driver", result.stderr)


if __name__ == "__main__":
    main(needs=())
