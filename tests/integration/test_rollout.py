"""What an administrator puts before everybody's jobs: a wrapper named as a launcher, and the switch that turns safelaunch off."""

import json
import os
import pathlib
import subprocess

from harness import SAFELAUNCH, SafelaunchTest, main


class Rollout(SafelaunchTest):
    def setUp(self):
        super().setUp()
        self.real = self.program("real/torchrun", '#!/bin/sh\necho "real: $*"\n')

    def program(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
        return str(path)

    def wrapper(self, line):
        return self.program("shim/torchrun", f"#!/bin/sh\n{line}\n")

    def run_command(self, *words, status=0, **environment):
        path = f"{self.folder}/shim:{self.folder}/real:{pathlib.Path(SAFELAUNCH).parent}:{os.environ['PATH']}"
        done = subprocess.run(words, env=self.environment(**{"PATH": path, **environment}), cwd=self.folder, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=120)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def records(self):
        return sorted((self.folder / "state/safelaunch/runs").glob("*"))


class Wrappers(Rollout):
    def test_the_torchrun_behind_a_wrapper_is_started_and_watched_once(self):
        self.wrapper('exec safelaunch torchrun "$@"')
        for command in (["torchrun", "a", "b"], [SAFELAUNCH, "torchrun", "a", "b"]):
            before = len(self.records())
            run = self.run_command(*command)
            self.assertEqual((run.stdout, run.stderr), ("real: a b\n", ""))
            self.assertEqual(len(self.records()), before + 1)
        plan = json.loads(self.run_command(SAFELAUNCH, "--dry-run", "--json", "torchrun", "a").stdout)
        self.assertEqual(plan["command"], [self.real, "a"])

    def test_a_wrapper_that_names_the_real_one_works(self):
        self.wrapper('# safelaunch torchrun would find it as well\nexec safelaunch "$HOME/real/torchrun" "$@"')
        self.assertEqual(self.run_command("torchrun", "x", HOME=str(self.folder)).stdout, "real: x\n")

    def test_a_wrapper_without_a_torchrun_behind_it_ends_with_one_line(self):
        wrapper = self.wrapper('exec safelaunch torchrun "$@"')
        pathlib.Path(self.real).unlink()
        for command, switch in ((["torchrun"], ""), ([SAFELAUNCH, "torchrun"], ""), (["torchrun"], "off")):
            path = f"{self.folder}/shim:{pathlib.Path(SAFELAUNCH).parent}:/usr/bin:/bin"
            run = self.run_command(*command, "x", status=125, PATH=path, SAFELAUNCH=switch)
            self.assertEqual(run.stderr, f"safelaunch: torchrun is {wrapper}, which starts safelaunch again and again; "
                                         "name the real one: safelaunch /PATH/TO/torchrun\n")

    def test_a_wrapper_whose_text_tells_nothing_ends_at_the_third_start(self):
        wrapper = self.wrapper('echo start >> starts; exec "$LAUNCH" torchrun "$@"')
        run = self.run_command(SAFELAUNCH, "torchrun", "x", status=125, LAUNCH=SAFELAUNCH)
        self.assertEqual((self.folder / "starts").read_text(), "start\nstart\n")
        self.assertIn(f"torchrun is {wrapper}, which starts safelaunch again and again; name the real one", run.stderr)

    def test_a_wrapper_that_goes_on_as_the_shells_child_ends_too(self):
        self.wrapper('echo start >> starts; "$LAUNCH" torchrun "$@"; exit $?')
        self.run_command(SAFELAUNCH, "torchrun", status=125, LAUNCH=SAFELAUNCH)
        self.assertEqual((self.folder / "starts").read_text(), "start\nstart\n")

    def test_a_script_may_start_itself_below_safelaunch_with_other_words(self):
        self.program("shim/job.sh", '#!/bin/sh\nif [ "$1" ]; then echo "second: $1"; else safelaunch job.sh again; fi\n')
        self.assertEqual(self.run_command(SAFELAUNCH, "job.sh").stdout, "second: again\n")

    def test_a_launcher_that_a_job_starts_below_itself_stays_the_same(self):
        self.program("shim/torchrun", '#!/bin/sh\necho "outer: $*"\n[ "$1" ] && exec sh -c "sh -c \'$LAUNCH torchrun\'"\ntrue\n')
        run = self.run_command(SAFELAUNCH, "torchrun", "x", LAUNCH=SAFELAUNCH)
        self.assertEqual(run.stdout, "outer: x\nouter: \n")


class SwitchedOff(Rollout):
    def off(self, *words, **more):
        return self.run_command(SAFELAUNCH, *words, SAFELAUNCH="off", **more)

    def test_the_process_is_the_command(self):
        process = subprocess.Popen([SAFELAUNCH, "-q", "--init-timeout", "5s", "sh", "-c", "echo $$ $PPID; exit 7"], cwd=self.folder,
                                   env=self.environment(SAFELAUNCH="off"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        out, err = process.communicate(timeout=60)
        self.assertEqual((out, err, process.returncode), (f"{process.pid} {os.getpid()}\n", "", 7))
        self.assertFalse((self.folder / "state").exists())

    def test_the_commands_environment_is_ones_own(self):
        self.assertEqual(self.off("env").stdout, self.run_command("env", SAFELAUNCH="off").stdout)

    def test_a_signal_ends_it_as_it_ends_the_command(self):
        self.off("sh", "-c", "kill -TERM $$", status=-15)

    def test_no_file_of_settings_is_read(self):
        self.program("safelaunch.yaml", "cain: wrong\n")
        self.assertEqual(self.off("echo", "ran").stdout, "ran\n")

    def test_what_cannot_be_started_is_told_as_always(self):
        self.assertIn("command not found: 'no-such-program'", self.off("no-such-program", status=127).stderr)
        self.assertIn("there is no command to run", self.off("--", status=64).stderr)
        self.assertIn("did you mean '--only'", self.off("--onyl", "true", status=64).stderr)
        self.assertIn("there is no verb 'kill'", self.off("kill", "1", status=64).stderr)

    def test_safelaunch_spawns_no_ranks(self):
        for words, variables in ((["--nproc-per-node", "2"], {}), ([], {"SAFELAUNCH_NPROC_PER_NODE": "2"})):
            self.assertIn("put torchrun before the script", self.off(*words, "true", status=64, **variables).stderr)

    def test_a_script_without_a_first_line_is_the_shells(self):
        self.assertEqual(self.off(self.program("plain", "echo $0 $1\n"), "x").stdout, f"{self.folder}/plain x\n")

    def test_a_python_file_runs_under_python(self):
        self.program("job.py", "import sys\nprint(sys.argv)\n")
        self.assertEqual(self.off("job.py", "x").stdout, "['job.py', 'x']\n")

    def test_a_dry_run_and_verbs_answer_as_always(self):
        self.assertIn("launcher  ", self.off("--dry-run", "true").stdout)
        self.assertIn("launcher  ", self.off("true", SAFELAUNCH_DRY_RUN="1").stdout)
        self.assertIn("Usage: safelaunch", self.off("--help").stdout)
        self.assertIn("basic", self.off("profiles", "names").stdout)

    def test_another_value_switches_nothing_off(self):
        self.run_command(SAFELAUNCH, "true", SAFELAUNCH=SAFELAUNCH)
        self.assertEqual(len(self.records()), 1)

    def test_a_wrapper_leads_to_the_real_launcher(self):
        for line in ('exec safelaunch torchrun "$@"', 'safelaunch torchrun "$@"'):
            self.wrapper(line)
            run = self.run_command("torchrun", "x", SAFELAUNCH="off")
            self.assertEqual((run.stdout, run.stderr), ("real: x\n", ""))

    def test_a_wrapper_that_finds_only_itself_ends(self):
        self.wrapper('echo start >> starts; exec "$LAUNCH" torchrun "$@"')
        run = self.run_command("torchrun", "x", status=125, SAFELAUNCH="off", LAUNCH=SAFELAUNCH)
        self.assertIn("which starts safelaunch again and again", run.stderr)
        self.assertEqual((self.folder / "starts").read_text(), "start\n" * 3)


if __name__ == "__main__":
    main(needs=())
