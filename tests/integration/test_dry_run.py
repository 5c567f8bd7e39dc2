"""A dry run is the truth to the letter: what it shows is compared with what the same words really start."""

import json
import os
import re
import socket
import subprocess
import sys
import unittest

from harness import BIN, SAFELAUNCH, SafelaunchTest, free_port, main, torchrun

# Each rank leaves its words and its environment behind.
LEAVE = """import json, os, sys
name = os.environ.get("RANK", "alone")
json.dump([sys.orig_argv, dict(os.environ)], open(os.path.join(os.environ["LEFT"], name), "w"))
"""

# A launcher by name, which starts its ranks as torchrun does, without torch's seconds.
LAUNCHER = """#!/usr/bin/env python3
import argparse, os, subprocess, sys
options = argparse.ArgumentParser(allow_abbrev=False)
options.add_argument("--nproc_per_node", type=int)
options.add_argument("--rdzv_endpoint"), options.add_argument("--rdzv-endpoint"), options.add_argument("--master_port")
options.add_argument("rest", nargs=argparse.REMAINDER)
given = options.parse_args()
open(os.path.join(os.environ["LEFT"], "launcher"), "w").write(repr(sys.argv[1:]))
ranks = [subprocess.Popen([sys.executable, *given.rest], env={**os.environ, "RANK": str(rank)}) for rank in range(given.nproc_per_node)]
sys.exit(max(rank.wait() for rank in ranks))
"""

MADE_UP = [("<run id>", r"\d{8}-\d{6}-[0-9a-f]{6}"), ("@safelaunch/hook/<random>", "@safelaunch/hook/[0-9a-f]{32}"),
           ("127.0.0.1:<free port>", r"127\.0\.0\.1:\d+")]


def without_age(text):
    """"listening for 1s" is a second more by the time of the run."""
    return re.sub(r"\bfor \d+s", "for SOME TIME", text)


class DryRun(SafelaunchTest):
    def setUp(self):
        super().setUp()
        self.left = self.folder / "left"
        self.left.mkdir()
        (self.folder / "train.py").write_text(LEAVE)
        (self.folder / "bin").mkdir()
        (self.folder / "bin/torchrun").write_text(LAUNCHER)
        (self.folder / "bin/torchrun").chmod(0o755)

    def surroundings(self, **more):
        return {**self.environment(LEFT=str(self.left), LC_ALL="C.UTF-8", HOME=str(self.folder), **more),
                "PATH": f"{self.folder}/bin:{BIN}:{os.environ['PATH']}"}

    def call(self, *words, **more):
        return subprocess.run([SAFELAUNCH, "--no-preflight", *words], env=self.surroundings(**more), cwd=self.folder, capture_output=True,
                              text=True, stdin=subprocess.DEVNULL, timeout=300)

    def plan(self, *words, **more):
        done = self.call("--dry-run", "--json", *words, **more)
        return done.returncode, json.loads(done.stdout)

    def really(self, *words, **more):
        for file in self.left.iterdir():
            file.unlink()
        done = self.call(*words, **more)
        ranks = {file.name: json.loads(file.read_text()) for file in self.left.iterdir() if file.name != "launcher"}
        return done, ranks

    def as_shown(self, name, value, port):
        """A real value, with what is made up anew in each run as the dry run names it."""
        if name == "SAFELAUNCH_OWNER":
            return "<this safelaunch>"
        if name == "NCCL_SOCKET_MAGIC":
            return "<random>"
        value = re.sub(rf"(?<!\d){port}(?!\d)", "PORT", value) if port else value  # not of the digits of a run's id
        for word, pattern in MADE_UP:
            value = re.sub(pattern, word, value)
        return value

    def compare(self, words, **more):
        """Returns the plan, after the run has been compared with it."""
        status, plan = self.plan(*words, **more)
        done, ranks = self.really(*words, **more)
        self.assertEqual(status, done.returncode if "refused" in plan else 0, done.stderr)
        if "refused" in plan:
            self.assertIn(without_age(plan["refused"]["why"]), without_age(done.stderr))
            self.assertEqual((plan["refused"]["exit_status"], ranks), (done.returncode, {}))
            return plan
        self.assertEqual(done.returncode, 0, done.stderr)
        attempt, mine = plan["chain"][0], self.surroundings(**more)
        for argv, environment in ranks.values():
            shown = dict(attempt["environment"])
            for worker in attempt.get("workers", []):
                if str(worker["rank"]) == environment["RANK"]:
                    shown |= worker["environment"]
            actual_port = environment.get("MASTER_PORT", "")
            names = {name for name in {**environment, **mine} if environment.get(name) != mine.get(name)} | set(shown)
            names -= {"RANK"} if "workers" not in attempt else set()
            for name in names - {"SAFELAUNCH_HOOK_TOKEN", "_"}:
                with self.subTest(variable=name):
                    real = self.as_shown(name, environment[name], actual_port) if name in environment else "(not set)"
                    told = shown.get(name, "(nothing)").replace(str(plan.get("port", "no port")), "PORT")
                    self.assertEqual(told, real)
            self.assertEqual(argv[-len(attempt["argv"]) + 1:] if "workers" in attempt or plan["launcher"] == "python" else None,
                             attempt["argv"][1:] if "workers" in attempt or plan["launcher"] == "python" else None)
        return plan

    def profiles(self):
        return subprocess.run([SAFELAUNCH, "profiles", "names"], capture_output=True, text=True, check=True).stdout.split()

    def test_under_every_profile_a_plain_command_runs_as_shown(self):
        for profile in self.profiles():
            with self.subTest(profile=profile):
                self.compare(["--profile", profile, "train.py", "--num_workers", "4"])

    def test_under_every_profile_workers_of_safelaunchs_own_run_as_shown(self):
        for profile in self.profiles():
            with self.subTest(profile=profile):
                plan = self.compare(["--profile", profile, "--nproc-per-node", "2", "--grace", "40s", "train.py", "--num_workers", "4"])
                self.assertEqual(plan["chain"][0]["deadlines"]["grace"], "40s")
        self.assertEqual(self.plan("--profile", "single-gpu", "--nproc-per-node", "2", "train.py")[1]["chain"][0]["workers"][0]["rank"], 0)

    def test_under_every_profile_a_launcher_is_called_as_shown(self):
        for profile in self.profiles():
            with self.subTest(profile=profile):
                plan = self.compare(["--profile", profile, "torchrun", "--nproc_per_node", "2", "--master_port", str(free_port()), "train.py",
                                     "--num_workers", "4"])
                self.assertEqual((self.left / "launcher").read_text(), repr(plan["chain"][0]["argv"][1:]))

    def test_torchrun_itself_is_called_as_shown(self):
        words = torchrun("--nproc_per_node", "2", "train.py", "--num_workers", "4")
        _, plan = self.plan("--profile", "gpu-cache", *words)
        done, ranks = self.really("--profile", "gpu-cache", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        script = plan["chain"][0]["argv"].index("train.py")
        self.assertEqual(ranks["0"][0][-len(plan["chain"][0]["argv"][script:]):], plan["chain"][0]["argv"][script:])

    def test_what_the_user_set_and_what_an_option_sets_stands_with_its_origin(self):
        plan = self.compare(["--profile", "no-shm", "--set", "A=b", "--unset", "GONE", "train.py"], NCCL_SHM_DISABLE="0", GONE="1", NCCL_DEBUG="WARN")
        attempt = plan["chain"][0]
        self.assertIn("your value stays; profile no-shm", attempt["origins"]["NCCL_SHM_DISABLE"])
        self.assertEqual((attempt["origins"]["A"], attempt["environment"]["GONE"]), ("--set", "(not set)"))
        self.assertNotIn("NCCL_DEBUG_FILE", attempt["environment"])  # the log is the user's own
        self.assertEqual(plan["options"]["set"], {"value": "A=b", "origin": "--set"})

    def test_a_port_that_is_pinned_and_held_ends_a_dry_run_as_it_ends_a_run(self):
        with socket.socket() as held:
            held.bind(("127.0.0.1", 0))
            held.listen()
            plan = self.compare(["--port", str(held.getsockname()[1]), "torchrun", "--nproc_per_node", "2", "train.py"])
        self.assertEqual(plan["refused"]["exit_status"], 75)

    def test_a_command_that_does_not_exist_ends_a_dry_run_as_it_ends_a_run(self):
        self.assertEqual(self.compare(["no-such-command-here"])["refused"]["exit_status"], 127)

    def test_a_script_that_is_not_there_is_told(self):
        self.assertIn("there is no script nofile.py", self.plan("torchrun", "--nproc_per_node", "2", "nofile.py")[1]["warnings"])

    def test_the_chain_is_shown_as_far_as_the_options_let_it_go(self):
        def chain(*words, last="gloo-fallback"):
            plan = self.plan("--profile", "basic,conservative,no-shm," + last, *words, "train.py")[1]
            return [entry["profile"] for entry in plan["chain"]], plan
        self.assertEqual(chain()[0], ["basic", "conservative", "no-shm", "gloo-fallback"])
        tried, plan = chain("--only")
        self.assertEqual((tried, plan["max_attempts"], plan["never_tried"]["no-shm"]), (["basic"], 1, "--only"))
        tried, plan = chain("--max-attempts", "2")
        self.assertEqual((tried, plan["only_if_it_heals"]), (["basic", "conservative"], ["no-shm", "gloo-fallback"]))
        (self.folder / "slow.yaml").write_text("cost: large\nenv: {MODE: slow}\n")
        tried, plan = chain("--fail-on-slow", last=str(self.folder / "slow.yaml"))
        self.assertEqual((tried, list(plan["never_tried"])), (["basic", "conservative", "no-shm"], ["slow"]))

    @unittest.skipIf(os.path.exists("/dev/nvidiactl"), "here is a GPU, beside which gloo is slow")
    def test_without_a_gpu_gloo_is_not_slow(self):
        plan = self.plan("--profile", "basic,gloo-fallback", "--fail-on-slow", "train.py")[1]
        self.assertEqual([(entry["profile"], entry["cost"]) for entry in plan["chain"]],
                         [("basic", "none"), ("gloo-fallback", "none")])

    @unittest.skipIf(os.path.exists("/dev/nvidiactl"), "here is a GPU, and NCCL may be what fails")
    def test_profiles_that_would_change_nothing_here_are_shown_as_a_run_passes_them_over(self):
        plan = self.plan("torchrun", "--nproc_per_node", "2", "train.py")[1]
        why = "the same as basic here: nothing here reads NCCL's variables without a GPU"
        self.assertEqual({entry["profile"]: entry.get("passed_over") for entry in plan["chain"]},
                         {"basic": None, "conservative": why, "no-shm": why, "gloo-fallback": None})
        self.assertEqual(plan["never_tried"], {})
        shown = lambda *words: self.run_safelaunch("--dry-run", *words, "torchrun", "--nproc_per_node", "2", "train.py").out
        self.assertNotIn("NCCL_CUMEM_ENABLE", shown())
        self.assertIn("    NCCL_CUMEM_ENABLE=0  (profile conservative", shown("-v"))

    def test_a_dry_run_leaves_nothing_behind(self):
        before = sorted(str(path) for path in self.folder.rglob("*"))
        self.plan("--nproc-per-node", "2", "train.py")
        self.assertEqual(sorted(str(path) for path in self.folder.rglob("*")), before)


if __name__ == "__main__":
    main()
