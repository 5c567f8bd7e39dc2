"""What safelaunch says without running a job, and how it refuses."""

import json
import os
import re
import shutil
import subprocess

from harness import ROOT, SAFELAUNCH, SafelaunchTest, main, wait_until


class Verbs(SafelaunchTest):
    def say(self, *words, status=0, text=None, **environment):
        done = subprocess.run([SAFELAUNCH, *words], env=self.environment(**environment), cwd=self.folder, capture_output=True, text=True,
                              input=text or "", timeout=60)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout if status == 0 else done.stderr

    def profile(self, text):
        return self.script(text, "mine.yaml")

    def test_more_ranks_than_a_node_can_have_are_refused(self):
        said = self.say("--nproc-per-node", "99999999", "--", "true", status=64)
        self.assertIn("at most 4096 ranks", said)

    def test_a_rendezvous_of_agents_is_refused_for_a_job_of_one_node(self):
        said = self.say("--rendezvous", "file:///tmp/x", "--", "true", status=64)
        self.assertIn("this is a job of one node; say how many there are (--nnodes", said)

    def test_profiles_are_listed_with_what_they_cost_and_heal(self):
        listed = self.say("profiles", "list")
        self.assertRegex(listed, r"(?m)^basic +none ")
        self.assertRegex(listed, r"(?m)^gloo-fallback +large \(slow\) ")
        self.assertIn("heals nccl-not-built, no-gpu", listed)
        self.assertIn("gloo-fallback", [profile["name"] for profile in json.loads(self.say("profiles", "list", "--json"))])

    def test_a_shown_profile_is_a_profile_again(self):
        shown = self.say("profiles", "show", "no-shm")
        self.assertIn("NCCL_SHM_DISABLE", shown)
        self.say("profiles", "check", self.profile(shown))

    def test_the_schemas_that_editors_use_accept_what_is_shipped_and_documented(self):
        try:
            import jsonschema
            import yaml
        except ImportError as missing:
            self.skipTest(str(missing))
        profile, config = (json.loads(self.say("profiles", "schema", kind)) for kind in ("profile", "config"))
        for schema in (profile, config):
            jsonschema.Draft7Validator.check_schema(schema)
        shipped = sorted((ROOT / "profiles").glob("*.yaml"))
        self.assertGreater(len(shipped), 10)
        for file in shipped:
            jsonschema.validate(yaml.safe_load(file.read_text()), profile)
        for text in re.findall(r"(?s)```yaml\n(.*?)```", (ROOT / "docs" / "profiles.md").read_text()):
            jsonschema.validate(yaml.safe_load(text), config if "clusters:" in text else profile)
        self.say("init", "--yes")
        jsonschema.validate(yaml.safe_load((self.folder / "safelaunch.yaml").read_text()), config)
        for wrong in ("timeuots: {init: 5s}", "cost: lagre", "timeouts: {init: soon}", "options: {port: 1, max-attempts: 2}"):
            self.assertRaises(jsonschema.ValidationError, jsonschema.validate, yaml.safe_load(wrong), profile)
        self.assertIn("did you mean 'config'", self.say("profiles", "schema", "confg", status=64))

    def test_the_environment_of_a_profile_is_for_a_shells_eval(self):
        exports = self.say("profiles", "env", "no-shm")
        seen = subprocess.run(["sh", "-c", f"{exports}\necho $NCCL_SHM_DISABLE"], capture_output=True, text=True).stdout
        self.assertEqual(seen, "1\n")

    def test_a_bad_profile_is_refused_with_its_place_and_the_nearest_right_word(self):
        file = self.profile("name: mine\nenv:\n  A: b\ntimeuots: {init: 5s}\n")
        for words in (["profiles", "check", file], ["--profile", file, "true"]):
            refused = self.say(*words, status=78)
            self.assertIn("mine.yaml:4:1: ", refused)
            self.assertIn("did you mean 'timeouts'", refused)

    def test_a_variable_that_nobody_reads_is_told_with_what_to_use(self):
        self.assertRegex(self.say("explain", "NCCL_TIMEOUT"), r"read by: nobody[\s\S]*process_group_timeout")

    def test_a_cause_is_explained_by_its_number_and_by_its_name(self):
        self.assertIn("/dev/shm is too small or full", self.say("explain", "F04"))
        self.assertEqual(self.say("explain", "F04"), self.say("explain", "shm-small"))

    def test_a_log_file_and_an_errors_words_are_explained(self):
        file = self.script("RuntimeError: x\nNCCL WARN Error while creating shared memory segment /dev/shm/nccl-vR6Fzi (size 9637888), "
                           "error: No space left on device (28)\n", "train.log")
        self.assertIn("shm-small", self.say("explain", file))
        for words in (["CUDA out of memory"], ["CUDA", "out", "of", "memory"]):
            self.assertIn("gpu-oom", self.say("explain", *words))
        self.assertIn("gpu-oom", self.say("explain", "-", text="CUDA out of memory\n"))
        self.assertIn("watchdog-timeout", self.say("explain", "NCCL timeout"))
        self.assertIn("no variable or file", self.say("explain", "nowhere.log", status=64))

    def test_where_nothing_is_known_explain_ends_with_1(self):
        for word, answer in [("the cat sat on the mat", "No known cause shows in these words.\n"), ("-", "No known cause shows in this log.\n"),
                             ("NCCL_NO_SUCH_THING", "NCCL_NO_SUCH_THING: not known to safelaunch\n")]:
            done = subprocess.run([SAFELAUNCH, "explain", word], env=self.environment(), input="step 1\nstep 2\n", text=True,
                                  capture_output=True, timeout=60)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (1, answer, ""))

    def test_a_directory_is_no_log(self):
        folder = self.folder / "logs"
        folder.mkdir()
        self.assertIn("logs is a directory; explain reads a log file", self.say("explain", "logs", status=64))
        descriptor = os.open(folder, os.O_RDONLY)
        self.addCleanup(os.close, descriptor)
        done = subprocess.run([SAFELAUNCH, "explain", "-"], env=self.environment(), stdin=descriptor, capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (64, "safelaunch: stdin cannot be read\n"))

    def test_a_profile_that_is_a_file_here_is_told_how_to_name_it(self):
        self.script("name: mine\n", "mine.txt")
        self.assertIn("there is no profile 'mine.txt'; the file is meant by ./mine.txt", self.say("profiles", "check", "mine.txt", status=78))

    def test_ranks_that_are_none_are_told_once(self):
        said = self.say("--ranks", "x", "true", status=64)
        self.assertRegex(said, r"^safelaunch: 'x' in --ranks x is neither .*\n$")

    def test_of_a_huge_log_both_ends_are_read(self):
        log = self.folder / "huge.log"
        with open(log, "wb") as file:
            file.write(b"step 1\n")
            file.truncate(100 << 30)
            file.seek(0, os.SEEK_END)
            file.write(b"\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n")
        said = self.say("explain", str(log))
        self.assertIn("gpu-oom", said)
        self.assertIn("The middle of the log, 100.0 GiB, was left out.", said)

    def test_of_a_long_log_on_stdin_both_ends_are_read(self):
        log = ("NCCL WARN Error while creating shared memory segment /dev/shm/nccl-vR6Fzi (size 9637888), error: No space left on device (28)\n"
               + "step\n" * (3 << 20) + "done\n")
        said = self.say("explain", "-", text=log)
        self.assertIn("shm-small", said)
        self.assertIn("The middle of the log, 11", said)

    def test_the_variables_of_a_ranks_world_are_explained(self):
        for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT", "CUDA_VISIBLE_DEVICES", "JAX_DEBUG_NANS"):
            with self.subTest(name=name):
                self.assertRegex(self.say("explain", name), f"{name}\n  read by: [^n]")

    def test_a_log_on_stdin_is_explained(self):
        log = "NCCL WARN Error while creating shared memory segment /dev/shm/nccl-vR6Fzi (size 9637888), error: No space left on device (28)\n"
        self.assertIn("shm-small", self.say("explain", "-", text=log))

    def test_a_dry_run_shows_the_plan_and_does_nothing(self):
        words = ["torchrun", "--nproc-per-node", "2", "train.py"]
        plan = self.say("--dry-run", "-v", *words)
        self.assertIn("launcher  torchrun", plan)
        self.assertIn("    NCCL_SHM_DISABLE=1  (profile no-shm", plan)
        self.assertEqual(json.loads(self.say("--dry-run", "--json", *words))["command"], words)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_a_misspelt_variable_of_ours_is_told(self):
        plan = self.say("--dry-run", "true", SAFELAUNCH_PROFIL="no-shm")
        self.assertIn("SAFELAUNCH_PROFIL is no setting; did you mean SAFELAUNCH_PROFILE?", plan)

    def test_status_tells_of_running_jobs_only(self):
        self.assertIn("no job of yours runs", self.say("status"))
        # `status` looks where runs are kept by default, hence no --run-dir.
        job = subprocess.Popen([SAFELAUNCH, "--nproc-per-node", "1", "--", "cat"], env=self.environment(), stdin=subprocess.PIPE,
                               stdout=subprocess.DEVNULL)
        wait_until(lambda: "no job of yours runs" not in self.say("status"), what="the job's line")
        (running,) = json.loads(self.say("status", "--json"))
        self.assertEqual(running["command"], ["cat"])
        wait_until(lambda: "0" in json.loads(self.say("status", "--json"))[0].get("ranks", {}), what="the rank's figures")
        self.assertRegex(self.say("status"), r"rank 0 +spawned .*[KM]iB")
        job.communicate()
        self.assertEqual(job.returncode, 0)
        self.assertIn("no job of yours runs", self.say("status"))
        self.assertIn("the last one, ", self.say("status"))  # and how it ended

    def test_an_answer_that_cannot_be_written_is_no_success(self):
        self.assertEqual(subprocess.run([SAFELAUNCH, "true"], env=self.environment(), cwd=self.folder).returncode, 0)
        for words in (["profiles", "env", "conservative"], ["profiles", "schema"], ["profiles", "list"], ["runs"], ["status"],
                      ["status", "--json"], ["status", "--watch"], ["doctor", "--json"], ["completion", "bash"], ["report"],
                      ["report", "--json"], ["report", "--html", "page.html", "--json"], ["explain", "F04"], ["help"], ["--help"],
                      ["report", "--help"], ["version"], ["manual"], ["clean", "--dry-run"], ["--dry-run", "true"]):
            with self.subTest(words=words), open("/dev/full", "w") as full:
                done = subprocess.run([SAFELAUNCH, *words], env=self.environment(), cwd=self.folder, stdout=full, stderr=subprocess.PIPE,
                                      text=True, timeout=60)
                # A doctor that finds what would stop a job says so first.
                self.assertIn(done.returncode, (74, 75) if words[0] == "doctor" else (74,), done.stderr)
                self.assertEqual(done.stderr.count("safelaunch: cannot write: No space left on device\n"), 1, done.stderr)

    def test_a_reader_that_has_seen_enough_is_no_reason_to_complain(self):
        for ignored in ("", "trap '' PIPE; "):
            line = f"{ignored}{{ {SAFELAUNCH} manual; echo $? >&2; }} | head -n 1"
            done = subprocess.run(["bash", "-c", line], env=self.environment(), cwd=self.folder, capture_output=True, text=True, timeout=60)
            self.assertIn(done.stderr, ("0\n", "141\n"))
            self.assertEqual(len(done.stdout.splitlines()), 1)
        watching = subprocess.run(["bash", "-c", f"trap '' PIPE; {SAFELAUNCH} status --watch | head -c 1"], env=self.environment(),
                                  cwd=self.folder, capture_output=True, timeout=60)
        self.assertEqual((watching.returncode, watching.stderr), (0, b""))

    def test_a_run_is_named_by_a_part_of_its_id_and_by_no_slip(self):
        done = subprocess.run([SAFELAUNCH, "true"], env=self.environment(), cwd=self.folder)
        self.assertEqual(done.returncode, 0)
        (run,) = json.loads(self.say("runs", "--json"))
        for verb in ("report", "status"):
            for part in (run["run"], run["run"][-4:], run["run"].rpartition("-")[0]):
                self.assertIn("true", self.say(verb, part))
            self.assertIn("'' names no run", self.say(verb, "", status=64))
            slip = "-" + run["run"].rpartition("-")[2][0]
            self.assertIn(f"there is no run '{slip}'", self.say(verb, "--", slip, status=64))
        self.assertIn("'' names no run", self.say("stacks", "", status=64))

    def test_usage_errors_end_with_64_and_say_what_is_right(self):
        for words, told in [
            (["--bogus", "true"], "unknown option --bogus"),
            (["--init-timeout", "5parsecs", "true"], "--init-timeout: '5parsecs' is not a duration"),
            (["--only"], "there is no command to run"),
            (["--clean", "our", "true"], "'our' is not one of off|ours; did you mean 'ours'?"),
            (["--clean", "orphans", "true"], "'orphans' is not one of off|ours; a run ends only what safelaunch has started"),
            (["clean", "--policy", "orphan"], "'orphan' is not one of off|ours|orphans; did you mean 'orphans'?"),
            (["--ranks", "0,7", "--nproc-per-node", "2", "--", "true"], "this job has no rank 7; its last is 1"),
            (["--port", "99999", "true"], "'99999' is no port"),
            (["profiles", "shwo", "basic"], "did you mean 'show'?"),
            (["clean", "--dryrun"], "did you mean '--dry-run'?"),
            (["status", "--wach"], "status does not take '--wach'; did you mean '--watch'?"),
            (["status", "--watch", "--json"], "--watch shows a screen; ask for --json as often as you need it"),
            (["status", "mine"], "there is no run 'mine'"),
            (["status", "one", "two"], "status takes one run, not also 'two'"),
            (["runs", "mine"], "runs takes no 'mine'"),
            (["report", "one", "two"], "report takes one run, not also 'two'"),
            (["explain"], "explain takes a cause"),
            (["explain", "shm-smal"], "there is no cause 'shm-smal'; did you mean 'shm-small'?"),
        ]:
            with self.subTest(words=words):
                self.assertIn(told, self.say(*words, status=64))

    def test_causes_of_ones_own_are_explained_and_found_in_logs(self):
        folder = self.folder / "config" / "safelaunch"
        folder.mkdir(parents=True)
        own = folder / "causes.yaml"
        own.touch(0o600)
        own.write_text("- {id: our-fabric, title: the fabric is in maintenance, retry: never, "
                       "patterns: ['fabric X is down'], remedy: Ask the channel.}\n")
        here = {"XDG_CONFIG_HOME": str(folder.parent)}
        self.assertIn("Ask the channel.", self.say("explain", "our-fabric", **here))
        self.assertIn("our-fabric", self.say("explain", "-", text="RuntimeError: fabric X is down\n", **here))
        own.write_text("- {id: our-fabric, titel: x}\n")
        self.assertIn("there is no cause 'our-fabric'", self.say("explain", "our-fabric", status=64, **here))
        told = self.say("explain", "x", status=64, **here)
        self.assertIn("causes.yaml:1: unknown field 'titel'; did you mean 'title'?; causes of your own do not count", told)

    def test_every_verb_answers_help_with_its_options(self):
        for verb, told in [("run", "--init-timeout"), ("probe", "--ranks"), ("profiles", "check FILE"), ("status", "--watch"),
                           ("report", "--bundle"), ("explain", "VARIABLE"), ("doctor", "--fix"), ("clean", "--policy")]:
            with self.subTest(verb=verb):
                for word in "--help", "-h":
                    text = self.say(verb, word)
                    self.assertTrue(text.startswith("Usage: safelaunch "), text)
                    self.assertIn(told, text)

    def complete(self, *words):
        """What bash offers for the last of the words."""
        script = self.script(self.say("completion", "bash"), "completions.bash")
        line = "source %s; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _safelaunch; printf '%%s\\n' \"${COMPREPLY[@]}\"" % script
        path = {"PATH": f"{os.path.dirname(SAFELAUNCH)}:{os.environ['PATH']}"}
        done = subprocess.run(["bash", "-c", line, "bash", "safelaunch", *words], env=self.environment(**path), cwd=self.folder,
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.stderr, "")
        return done.stdout.split()

    def test_bash_completes_verbs_options_values_and_profiles(self):
        for words, offered in [
            (["profiles"], ["profiles"]),
            (["clean", "--pol"], ["--policy"]),
            (["clean", "--policy", "o"], ["off", "ours", "orphans"]),
            (["--cl"], ["--cluster", "--clean"]),
            (["--clean", "o"], ["off", "ours"]),
            (["--clean", "=", "of"], ["off"]),
            (["--only", "--port", ""], ["keep", "auto"]),
            (["--profile", "bas"], ["basic"]),
            (["run", "-p", "gloo"], ["gloo-fallback"]),
            (["profiles", "sh"], ["show"]),
            (["profiles", "show", "no-sh"], ["no-shm"]),
            (["completion", "z"], ["zsh"]),
            (["--only", "torchrun", "--cl"], []),
            (["--grace", "torchrun", "--cle"], ["--clean"]),
        ]:
            with self.subTest(words=words):
                self.assertEqual(self.complete(*words), offered)

    def test_the_other_shells_and_man_take_what_is_written_for_them(self):
        for shell, check in ("zsh", ["-n"]), ("fish", ["--no-execute"]):
            script = self.script(self.say("completion", shell), shell)
            if shutil.which(shell):
                done = subprocess.run([shell, *check, script], capture_output=True, text=True, timeout=60)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
        page = self.say("manual")
        self.assertIn(".SH OPTIONS", page)
        if shutil.which("groff"):
            done = subprocess.run(["groff", "-ww", "-man", "-Tascii"], input=page, capture_output=True, text=True, timeout=60)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("(bash, zsh, fish)", self.say("completion", "tcsh", status=64))

    def test_an_option_in_a_profile_acts_unless_the_user_gives_another(self):
        profile = self.profile("name: mine\nextends: basic\noptions: {no-hook: true, no-plugin: true}\n")
        hook = ["-p", profile, "--only", "--", "sh", "-c", "echo hook: $SAFELAUNCH_HOOK"]
        self.assertEqual(self.say(*hook), "hook:\n")
        self.assertRegex(self.say(*hook, SAFELAUNCH_NO_HOOK="false"), "hook: .")
        self.assertIn("--no-hook true", self.say("--dry-run", *hook))

    def test_an_unknown_profile_ends_with_78(self):
        self.assertIn("there is no profile 'nosuch'", self.say("--profile", "nosuch", "true", status=78))

    def test_a_command_that_is_not_there_ends_with_127(self):
        self.assertIn("command not found: 'no-such-program'", self.say("no-such-program", status=127))

    def test_a_misspelt_verb_is_answered_with_the_right_one(self):
        self.assertIn("command not found: 'reprot' (looked in PATH); did you mean the verb 'report'?", self.say("reprot", status=127))

    def test_what_a_launcher_alone_can_do_is_said(self):
        self.assertIn("--prefix and --ranks have no effect", self.warned("--prefix", "--dry-run", "torchrun", "x.py"))

    def warned(self, *words):
        done = subprocess.run([SAFELAUNCH, *words], env=self.environment(), cwd=self.folder, capture_output=True, text=True, timeout=60)
        return done.stdout + done.stderr

    def test_a_command_that_may_not_be_executed_ends_with_126(self):
        file = self.folder / "plain.txt"
        file.write_text("no program\n")
        self.assertIn("plain.txt", self.say("./plain.txt", status=126))


if __name__ == "__main__":
    main(needs=())
