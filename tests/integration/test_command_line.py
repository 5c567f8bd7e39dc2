"""The command line as people type it: torchrun's own ways work here too."""

import json
import os
import shutil
import subprocess
import sys
import unittest

from harness import SAFELAUNCH, SafelaunchTest, main

# What a rank prints is its own rank, the words that Python got, and its arguments.
TELL = "import os, sys; print(os.environ.get('RANK', 'alone'), ' '.join(sys.orig_argv[1:]), flush=True)\n"


class CommandLine(SafelaunchTest):
    def run_words(self, *words, status=0, **environment):
        done = subprocess.run([SAFELAUNCH, "--run-dir", str(self.folder / "run"), "--no-hook", "--no-preflight", *words],
                              env=self.environment(**environment), cwd=self.folder, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=120)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return sorted(done.stdout.splitlines()) if status == 0 else done.stderr

    def test_a_python_script_alone_is_a_command(self):
        (self.folder / "train.py").write_text(TELL)
        self.assertEqual(self.run_words("train.py", "--lr", "1"), ["alone train.py --lr 1"])

    def test_ranks_of_a_script_run_as_under_torchrun(self):
        (self.folder / "train.py").write_text(TELL)
        self.assertEqual(self.run_words("--nproc-per-node", "2", "train.py", "x"), [f"{rank} -u train.py x" for rank in (0, 1)])
        self.assertEqual(self.run_words("--nproc_per_node=2", "./train.py"), [f"{rank} -u ./train.py" for rank in (0, 1)])

    def test_a_module_runs_alone_and_in_ranks(self):
        (self.folder / "package").mkdir()
        (self.folder / "package/module.py").write_text(TELL)
        self.assertEqual(self.run_words("-m", "package.module", "x"), ["alone -m package.module x"])
        self.assertEqual(self.run_words("--nproc_per_node", "2", "-m", "package.module", "x"),
                         [f"{rank} -u -m package.module x" for rank in (0, 1)])

    def test_the_python_is_that_of_the_active_environment(self):
        (self.folder / "train.py").write_text("import sys; print(sys.prefix)\n")
        venv = self.folder / "venv"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
        self.assertEqual(self.run_words("train.py", VIRTUAL_ENV=str(venv)), [str(venv)])

    def test_a_launchers_module_behind_m_is_recognised(self):
        words = ["-m", "torch.distributed.run", "--nproc_per_node", "2", "train.py"]
        plan = json.loads("\n".join(subprocess.run([SAFELAUNCH, "--dry-run", "--json", *words], env=self.environment(), cwd=self.folder,
                                                   capture_output=True, text=True, check=True).stdout.splitlines()))
        self.assertEqual((plan["launcher"], plan["processes_per_node"]), ("torchrun", "2"))

    def test_a_program_of_the_system_never_runs_for_a_verb_that_does_not_exist(self):
        refused = subprocess.run([SAFELAUNCH, "ls", "-d", "."], env=self.environment(), cwd=self.folder, capture_output=True, text=True)
        self.assertEqual((refused.returncode, refused.stdout), (64, ""), refused.stderr)
        self.assertRegex(refused.stderr, "there is no verb 'ls'; safelaunch runs [\\s\\S]*: safelaunch -- ls -d .\n")
        self.assertEqual(self.run_words("--", "ls", "-d", "."), ["."])

    def test_help_of_a_verb_is_that_verbs_help(self):
        def say(*words, status=0):
            done = subprocess.run([SAFELAUNCH, *words], env=self.environment(), cwd=self.folder, capture_output=True, text=True)
            self.assertEqual(done.returncode, status, done.stderr)
            return done.stdout or done.stderr
        self.assertEqual(say("help", "report"), say("report", "--help"))
        self.assertIn("did you mean the verb 'report'", say("help", "repotr", status=64))
        self.assertIn("takes no 'extra'", say("version", "extra", status=64))

    def test_the_closing_report_as_json_goes_to_a_file_or_a_descriptor(self):
        self.run_words("--json=report.json", "true")
        self.assertEqual(json.loads((self.folder / "report.json").read_text())["exit_status"], 0)
        end, other_end = os.pipe()
        done = subprocess.run([SAFELAUNCH, "--no-preflight", f"--json=/dev/fd/{other_end}", "sh", "-c", "echo x >&2; exit 3"],
                              env=self.environment(), cwd=self.folder, pass_fds=[other_end], stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
        os.close(other_end)
        with open(end) as told:
            self.assertEqual((json.load(told)["exit_status"], done.returncode), (3, 3))
        self.run_words("--dry-run", "--json=plan.json", "true")
        self.assertEqual(json.loads((self.folder / "plan.json").read_text())["command"], ["true"])

    def test_a_fifo_that_nobody_reads_costs_the_report_and_nothing_else(self):
        os.mkfifo(self.folder / "report")
        said = self.run_words("--json=report", "false", status=1)
        self.assertIn("--json=report: nothing reads from it", said)
        self.assertNotIn("not all of this run is recorded", said)
        self.assertNotIn("does not answer", said)

    def test_a_fifo_with_a_reader_gets_the_report(self):
        os.mkfifo(self.folder / "report")
        reader = os.open(self.folder / "report", os.O_RDONLY | os.O_NONBLOCK)
        with open(reader) as told:
            self.run_words("--json=report", "false", status=1)
            self.assertEqual(json.load(told)["exit_status"], 1)

    def test_a_reader_that_takes_nothing_does_not_hold_up_the_record(self):
        end, other_end = os.pipe()
        os.set_blocking(other_end, False)
        with self.assertRaises(BlockingIOError):
            while True:
                os.write(other_end, b"x" * 4096)
        os.set_blocking(other_end, True)
        done = subprocess.run([SAFELAUNCH, "--no-preflight", f"--json=/dev/fd/{other_end}", "false"], env=self.environment(),
                              cwd=self.folder, pass_fds=[other_end], stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
        os.close(end)
        os.close(other_end)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("whoever reads it takes nothing", done.stderr)
        self.assertNotIn("not all of this run is recorded", done.stderr)

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"), "becomes another user: needs root")
    def test_a_descriptor_whose_file_belongs_to_another_user_gets_the_report(self):
        self.folder.chmod(0o755)
        program = self.program_for_all()
        with open(self.folder / "of-root.json", "w", opener=lambda name, how: os.open(name, how, 0o600)) as report:
            done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", program, "--no-preflight",
                                   f"--json=/dev/fd/{report.fileno()}", "true"], env=self.environment(), cwd="/",
                                  pass_fds=[report.fileno()], stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads((self.folder / "of-root.json").read_text())["exit_status"], 0)

    def test_the_json_of_a_run_replaces_an_earlier_one_and_never_the_users_own(self):
        for file in ("report.json", "report.json", "plan.json", "plan.json"):
            self.run_words(*(["--dry-run"] if file == "plan.json" else []), f"--json={file}", "true")
        own = '{\n  "train_batch_size": 8\n}\n'
        (self.folder / "ds_config.json").write_text(own)
        for words in ([], ["--dry-run"]):
            said = self.run_words(*words, "--json=ds_config.json", "touch", "ran", status=64)
            self.assertIn("--json=ds_config.json: exists and is no safelaunch report", said)
        self.assertEqual((self.folder / "ds_config.json").read_text(), own)
        self.assertFalse((self.folder / "ran").exists())

    def test_a_place_that_cannot_be_written_to_is_told_before_the_job_runs(self):
        (self.folder / "mine.txt").write_text("mine")
        for words, why in [(["--json=mine.txt"], "mine.txt: exists and is no safelaunch report"), (["--json=."], "Is a directory"),
                           (["--json="], "'' is not a file"), (["--json=none/x.json"], "No such file or directory"),
                           (["--log-dir", "mine.txt"], "--log-dir mine.txt: is no folder")]:
            with self.subTest(words):
                self.assertIn(why, self.run_words(*words, "touch", "ran", status=64))
        self.assertFalse((self.folder / "ran").exists())
        self.assertEqual((self.folder / "mine.txt").read_text(), "mine")

    def test_what_would_have_no_effect_is_refused(self):
        for words, why in [(["--devices", "0-1", "--nproc-per-node", "2", "true"], "'0-1' is not among the GPUs"),
                           (["--master-addr", "http://x:5", "--nproc-per-node", "2", "true"], "'http://x:5' is no host"),
                           (["--master-port", "24101", "--port", "24102", "--nproc-per-node", "2", "true"], "both name the port"),
                           (["--metrics=x", "--dry-run", "true"], "node_exporter reads only names in .prom")]:
            with self.subTest(words):
                self.assertIn(why, self.run_words(*words, status=64))

    def test_a_variable_of_safelaunchs_own_that_means_nothing_is_told(self):
        said = "\n".join(self.run_words("--dry-run", "true", SAFELAUNCH="bogus", SAFELAUNCH_LANG="xx"))
        for name in ("SAFELAUNCH=bogus switches nothing", "SAFELAUNCH_LANG=xx is no language"):
            self.assertIn(name, said)
        for switched in ("off", "OFF", "0", "false"):
            self.assertEqual(self.run_words("true", SAFELAUNCH=switched), [])
            self.assertFalse((self.folder / "run").exists(), switched)

    def test_an_option_that_a_verbs_word_has_not_is_refused(self):
        for verb in (["config", "check"], ["profiles", "names"], ["profiles", "env", "basic"]):
            with self.subTest(verb):
                done = subprocess.run([SAFELAUNCH, *verb, "--json"], env=self.environment(), capture_output=True, text=True)
                self.assertEqual(done.returncode, 64)
                self.assertIn(f"{' '.join(verb[:2])} has no JSON", done.stderr)

    def test_port_0_of_a_launcher_is_no_mistake_where_a_free_port_takes_its_place(self):
        launch = ["deepspeed", "--num_gpus", "2", "--master_port", "0", "t.py"]
        for port, told in ([], False), (["--port", "keep"], True):
            done = subprocess.run([SAFELAUNCH, "--dry-run", *port, *launch], env=self.environment(), cwd=self.folder,
                                  capture_output=True, text=True)
            self.assertEqual("port 0 means nothing" in done.stdout + done.stderr, told, done.stdout + done.stderr)

    def test_a_script_that_is_not_there_is_told(self):
        self.assertIn("no file nowhere.py", self.run_words("nowhere.py", status=127))


if __name__ == "__main__":
    main()
