"""`safelaunch init`: the questions on a terminal, the file that it writes, and what stays as it is."""

import json
import pathlib
import subprocess
import sys

from harness import SAFELAUNCH, SafelaunchTest, main
from terminal import Terminal


class Init(SafelaunchTest):
    def setUp(self):
        super().setUp()
        self.file = self.folder / "safelaunch.yaml"

    def init(self, *words, **options):
        return subprocess.run([SAFELAUNCH, "init", *words], cwd=self.folder, capture_output=True, text=True, timeout=60,
                              **{"env": self.environment(), "stdin": subprocess.DEVNULL, **options})

    def answered(self, *answers):
        """Types each answer when its question stands there; the status and the screen."""
        terminal = Terminal([SAFELAUNCH, "init"], columns=400, cwd=self.folder, env=self.environment())
        for asked, typed in enumerate(answers, 1):
            terminal.read_until(b"] ", times=asked)
            terminal.type(typed)
        return terminal.close(), terminal.output.decode()

    def plan(self, *words):
        run = subprocess.run([SAFELAUNCH, "--dry-run", "--json", *words], cwd=self.folder, env=self.environment(),
                             stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        self.assertEqual(run.returncode, 0, run.stderr)
        plan = json.loads(run.stdout)
        self.assertRegex(plan["chain_from"], r"^safelaunch\.yaml:\d+:\d+$")
        return plan

    def test_what_is_proposed_is_written_and_used(self):
        run = self.init("--yes")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertRegex(run.stdout, r"wrote \./safelaunch\.yaml\nstart a job: safelaunch .*train\.py\n")
        plan = self.plan(sys.executable, "-c", "pass")
        self.assertEqual(plan["chain"][0]["profile"], "basic")
        self.assertRegex(plan["options"]["init-timeout"]["origin"], "safelaunch.yaml")

    def test_answers_decide_a_run(self):
        status, screen = self.answered(b"safelaunch\n", b"3\n", b"no-shm,basic\n", b"no\n", b"7s\n", b"11s\n")
        self.assertEqual(status, 0, screen)
        self.assertIn("start a job: safelaunch train.py", screen)
        ranks = self.script("import os; open(os.environ['RANK'], 'w')", "train.py")
        run = subprocess.run([SAFELAUNCH, "train.py"], cwd=self.folder, env=self.environment(), stdin=subprocess.DEVNULL,
                             capture_output=True, text=True, timeout=60)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertTrue((pathlib.Path(ranks).parent / "2").exists(), "three ranks, as was answered")
        plan = self.plan("train.py")
        self.assertEqual([one["profile"] for one in plan["chain"]], ["no-shm", "basic"])
        self.assertEqual({name: plan["options"][name]["value"] for name in
                          ("init-timeout", "collective-timeout", "stall-timeout", "fail-on-slow", "nproc-per-node")},
                         {"init-timeout": "7s", "collective-timeout": "7s", "stall-timeout": "11s", "fail-on-slow": "true",
                          "nproc-per-node": "3"})

    def test_a_wrong_answer_is_asked_again(self):
        status, screen = self.answered(b"torchrum\n", b"torchrun\n", b"2\n", b"basik\n", b"basic\n", b"\n", b"\n", b"\n")
        self.assertEqual(status, 0, screen)
        self.assertIn("did you mean 'torchrun'?", screen)
        self.assertIn("did you mean 'basic'?", screen)
        self.assertIn("chain: [basic]", self.file.read_text())

    def test_q_writes_nothing(self):
        status, screen = self.answered(b"\n", b"q\n")
        self.assertEqual(status, 130, screen)
        self.assertIn("nothing was written", screen)
        self.assertFalse(self.file.exists())

    def test_without_a_terminal_it_needs_yes(self):
        run = self.init()
        self.assertEqual(run.returncode, 64)
        self.assertIn("init asks on the terminal, and there is none; --yes takes what is proposed", run.stderr)
        self.assertFalse(self.file.exists())

    def test_a_file_that_is_there_stays_unless_force_is_said(self):
        self.file.write_text("chain: [basic]  # mine\n")
        run = self.init("--yes")
        self.assertEqual(run.returncode, 64)
        self.assertIn("./safelaunch.yaml exists and was left as it is; --force overwrites it", run.stderr)
        self.assertEqual(self.file.read_text(), "chain: [basic]  # mine\n")
        self.assertEqual(self.init("--yes", "--force").returncode, 0)
        self.assertNotIn("mine", self.file.read_text())

    def test_a_link_without_an_end_counts_as_a_file_that_is_there(self):
        self.file.symlink_to(self.folder / "elsewhere.yaml")
        self.assertEqual(self.init("--yes").returncode, 64)
        self.assertEqual(self.init("--yes", "--force").returncode, 64)
        self.assertFalse((self.folder / "elsewhere.yaml").exists())

    def test_for_all_jobs_of_the_user(self):
        environment = self.environment(XDG_CONFIG_HOME=str(self.folder / "config"))
        run = self.init("--yes", "--user", env=environment)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertTrue((self.folder / "config/safelaunch/safelaunch.yaml").exists())
        self.assertFalse(self.file.exists())


if __name__ == "__main__":
    main(needs=())
