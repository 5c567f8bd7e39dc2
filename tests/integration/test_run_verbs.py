"""Verbs for a recorded run: stop it, read its output, see its page; and the shells that complete its id."""

import json
import os
import pathlib
import shutil
import subprocess
import unittest

from harness import SAFELAUNCH, SafelaunchTest, main, wait_until

SAVES = '''#!/bin/sh
trap 'echo saved; exit 3' TERM
echo ready
while :; do sleep 0.05; done
'''
IGNORES = '''#!/bin/sh
trap '' TERM INT
echo ready
while :; do sleep 0.05; done
'''


class RunVerbs(SafelaunchTest):
    def say(self, *words, status=0, **environment):
        done = subprocess.run([SAFELAUNCH, *map(str, words)], env=self.environment(**environment), cwd=self.folder, capture_output=True,
                              text=True, stdin=subprocess.DEVNULL, timeout=120)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def ids(self):
        return self.say("runs", "--ids").stdout.split()

    def running(self, text, name="job.sh"):
        """Starts a job and waits until it says that it is ready; the process and the run's id."""
        known = set(self.ids())
        process = subprocess.Popen([SAFELAUNCH, self.script(text, name)], env=self.environment(), cwd=self.folder, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process, (set(self.ids()) - known).pop()


class Runs(RunVerbs):
    def test_the_newest_and_those_that_failed_can_be_asked_for(self):
        for status in (3, 0, 4):
            self.say("sh", "-c", f"exit {status}", status=status)
        ids = self.ids()
        self.assertEqual(self.say("runs", "-n", "2", "--ids").stdout.split(), ids[1:])
        self.assertEqual(self.say("runs", "--failed", "--ids").stdout.split(), [ids[0], ids[2]])
        self.assertEqual([run["exit_status"] for run in json.loads(self.say("runs", "--failed", "-n", "1", "--json").stdout)], [4])
        self.assertIn("--newest: '0'", self.say("runs", "-n", "0", status=64).stderr)


class Explain(RunVerbs):
    def told(self, *words, status=0):
        return json.loads(self.say("explain", "--json", *words, status=status, LANG="zh_CN.UTF-8").stdout)

    def test_each_kind_of_question_is_answered_as_json_in_english(self):
        (self.folder / "train.log").write_text("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n")
        [seen] = self.told("train.log")["causes"]
        self.assertEqual((seen["cause"], seen["kind"], seen["retry"]), ("gpu-oom", "cause", "never"))
        self.assertIn("CUDA out of memory", seen["line"])
        self.assertEqual(self.told("gpu-oom")["causes"][0]["remedy"], seen["remedy"])
        self.assertEqual(self.told("CUDA out of memory")["causes"][0]["cause"], "gpu-oom")
        self.assertEqual(self.told("it works", status=1), {"causes": []})
        self.assertTrue(self.told("NCCL_TIMEOUT")["instead"].startswith("process_group_timeout: "))
        self.assertEqual(self.told("NCCL_DEBUGG", status=1), {"variable": "NCCL_DEBUGG", "known": False, "did_you_mean": "NCCL_DEBUG"})


class Stop(RunVerbs):
    def test_a_run_is_ended_and_may_save_first(self):
        process, run = self.running(SAVES)
        told = self.say("stop", run[-6:]).stdout
        out, _ = process.communicate(timeout=60)
        self.assertEqual((out, process.returncode), ("saved\n", 3))
        self.assertRegex(told, rf"^run {run} has ended: .*status 3\n$")

    def test_now_ends_what_takes_no_notice_of_a_first_signal(self):
        process, run = self.running(IGNORES)
        self.say("stop", "--now", run)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 143)

    def test_it_names_the_runs_where_none_is_said_or_it_is_over(self):
        self.assertIn("stop needs a run, and no job of yours runs", self.say("stop", status=64).stderr)
        process, run = self.running(SAVES)
        self.assertIn(f"stop needs a run; these run: {run}", self.say("stop", status=64).stderr)
        self.say("stop", run)
        process.communicate(timeout=60)
        self.assertIn(f"run {run} does not run any more", self.say("stop", run, status=64).stderr)
        self.assertIn("no run", self.say("stop", "zzz", status=64).stderr)

    def test_an_id_of_two_runs_stops_neither(self):
        first, one = self.running(SAVES)
        second, two = self.running(SAVES, "other.sh")
        common = os.path.commonprefix([one, two])
        self.say("stop", common, status=64)
        self.assertEqual((first.poll(), second.poll()), (None, None))
        for process, run in ((first, one), (second, two)):
            self.say("stop", run)
            process.communicate(timeout=60)

    def test_a_record_of_a_dead_process_whose_pid_is_anothers_stops_nobody(self):
        process, run = self.running(SAVES)
        record = self.folder / "state/safelaunch/runs" / run / "job.json"
        other = subprocess.Popen(["sleep", "60"])
        self.addCleanup(other.wait)
        self.addCleanup(other.kill)
        true_text = record.read_text()
        record.write_text(true_text.replace(str(process.pid), str(other.pid)))
        self.assertNotEqual(record.read_text(), true_text)
        self.say("stop", run, status=64)
        self.assertIsNone(other.poll())
        record.write_text(true_text)
        self.say("stop", run)
        process.communicate(timeout=60)


NOBODY = 65534


@unittest.skipUnless(os.geteuid() == 0, "looks at another user's run: needs root")
class AllUsers(RunVerbs):
    def setUp(self):
        super().setUp()
        self.folder.chmod(0o755)
        self.home = self.folder / "home"
        self.home.mkdir()
        os.chown(self.home, NOBODY, NOBODY)

    def as_nobody(self, *words, **options):
        return subprocess.Popen([self.program_for_all(), *words], user=NOBODY, group=NOBODY, extra_groups=[], cwd="/", text=True,
                                env=self.environment(HOME=str(self.home), XDG_STATE_HOME=str(self.home / "state")),
                                **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options})

    def shown(self):
        """Those of this test alone: others may run here, too."""
        return [run for run in json.loads(self.say("status", "--all-users", "--json").stdout) if self.folder.name in " ".join(run["command"])]

    def test_the_run_of_another_user_is_shown_and_nothing_of_it_is_touched(self):
        job = self.as_nobody("sh", "-c", "echo ready; exec cat", f"{self.folder.name}\x1b[31m", stdin=subprocess.PIPE)
        self.assertEqual(job.stdout.readline(), "ready\n")
        [run] = self.shown()
        self.assertEqual((run["user"], run["attempt"], run["pid"]), ("nobody", 1, job.pid))
        said = self.say("status", "--all-users").stdout
        self.assertIn("    user nobody\n", said)
        self.assertNotIn("\x1b", said)
        [directory] = (path.parent for path in self.home.rglob("job.json"))
        self.assertEqual({path.stat().st_uid for path in directory.rglob("*")}, {NOBODY})
        os.rename(directory / "job.json", directory / "job2.json")  # a link in a user's folder is not followed
        os.symlink("job2.json", directory / "job.json")
        self.assertEqual(self.shown(), [])
        os.replace(directory / "job2.json", directory / "job.json")
        self.assertEqual(len(self.shown()), 1)
        job.communicate()
        self.assertEqual(job.returncode, 0)
        self.assertEqual(self.shown(), [])

    def test_only_root_may_ask_for_all_users(self):
        said = self.as_nobody("status", "--all-users")
        self.assertIn("--all-users is for root", said.communicate(timeout=120)[1])
        self.assertEqual(said.returncode, 64)
        self.assertIn("not one run", self.say("status", "--all-users", "x", status=64).stderr)


class Mcp(RunVerbs):
    def answers(self, *messages):
        lines = "".join(json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in messages)
        done = subprocess.run([SAFELAUNCH, "mcp"], input=lines, env=self.environment(), cwd=self.folder, capture_output=True, text=True,
                              timeout=240)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_an_agent_asks_what_a_person_would_type(self):
        self.say("sh", "-c", "exit 7", status=7)
        call = lambda number, name, **arguments: {"id": number, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
        page = self.folder / "page.html"
        answers = self.answers({"id": 0, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}},
                               {"method": "notifications/initialized"}, call(1, "report"), call(2, "status"),
                               call(3, "explain", what="NCCL_P2P_DISABLE"), call(4, "report", run=f"--html={page}"), call(5, "stop"))
        self.assertEqual([answer["id"] for answer in answers], [0, 1, 2, 3, 4, 5])
        text = [answer["result"]["content"][0]["text"] for answer in answers[1:5]]
        self.assertIn("exit status 7", text[0])
        self.assertIsInstance(json.loads(text[1]), list)
        self.assertIn("NCCL_P2P_DISABLE", text[2])
        self.assertIn("is no run directory", text[3])
        self.assertTrue(answers[4]["result"]["isError"])
        self.assertFalse(page.exists())
        self.assertEqual(answers[5]["error"]["code"], -32602)


class Logs(RunVerbs):
    def test_the_output_is_printed_under_the_names_of_its_files(self):
        self.say("sh", "-c", r"printf 'one\ntwo'; echo wrong >&2")
        told = self.say("logs").stdout
        self.assertRegex(told, r"^==> attempt-1-basic/launcher\.out <==\none\ntwo\n?\n==> attempt-1-basic/launcher\.err <==\nwrong\n$")

    def test_one_rank_alone(self):
        self.say("--nproc-per-node", "2", "--", "sh", "-c", "echo rank $RANK")
        run = self.ids()[0]
        self.assertEqual(self.say("logs", run[-6:], "--rank", "1").stdout, "==> attempt-1-basic/rank-1.out <==\nrank 1\n")
        self.assertIn(f"run {run} has no file of rank 7", self.say("logs", "--rank", "7", status=64).stderr)

    def test_the_log_of_a_silent_job_is_empty(self):
        self.say("--", "true")
        told = self.say("logs")
        self.assertEqual(told.stdout, "")
        self.assertIn("has recorded no output", told.stderr)

    def test_a_folder_of_logs_elsewhere_is_found(self):
        self.say("--log-dir", self.folder / "logs", "--nproc-per-node", "1", "--", "echo", "here")
        self.assertIn("here", self.say("logs").stdout)

    def test_escape_sequences_stay_away_from_the_terminal(self):
        self.say("printf", r"\033]0;title\007\033[31mred\033[0m 1%%\r2%%\n")
        self.assertIn("2%\n", self.say("logs").stdout)
        self.assertNotIn("\x1b", self.say("logs").stdout)

    def test_a_running_job_is_followed_to_its_end(self):
        process, run = self.running(SAVES)
        follower = subprocess.Popen([SAFELAUNCH, "logs", "-f", run], env=self.environment(), cwd=self.folder,
                                    stdout=subprocess.PIPE, text=True)
        self.assertEqual([follower.stdout.readline() for _ in range(2)], ["==> attempt-1-basic/launcher.out <==\n", "ready\n"])
        self.say("stop", run)
        process.communicate(timeout=60)
        self.assertEqual(follower.communicate(timeout=60)[0], "saved\n")
        self.assertEqual(follower.returncode, 0)


class Page(RunVerbs):
    def test_the_page_is_shown_in_the_browser_that_the_user_has_named(self):
        self.say("true")
        browser = self.script('#!/bin/sh\necho "$#" "$@"\n', "browser")
        page = self.folder / "state/safelaunch/runs" / self.ids()[0] / "report.html"
        self.assertTrue(self.say("report", "--open", BROWSER=f"{browser}:other").stdout.endswith(f"as a page: {page}\n1 {page}\n"))
        self.assertTrue(self.say("report", "--open", BROWSER=f"{browser} --new %s").stdout.endswith(f"2 --new {page}\n"))
        own = self.folder / "own.html"
        self.assertTrue(self.say("report", "--open", "--html", "own.html", BROWSER=browser).stdout.endswith(f"1 {own}\n"))

    def test_without_a_browser_the_path_is_told(self):
        self.say("true")
        self.script("#!/bin/sh\necho opened\n", "xdg-open")
        screenless = {"BROWSER": "", "DISPLAY": "", "WAYLAND_DISPLAY": "", "PATH": str(self.folder)}
        told = self.say("report", "--open", **screenless)
        self.assertRegex(told.stdout, r"^run \S+ as a page: /.*/report\.html\n$")
        self.assertIn("there is no browser here: copy the page, or set BROWSER", told.stderr)
        self.assertTrue(self.say("report", "--open", **{**screenless, "DISPLAY": ":0"}).stdout.endswith("report.html\nopened\n"))
        self.assertIn("cannot start no-such-browser", self.say("report", "--open", BROWSER="no-such-browser").stderr)


class Completions(RunVerbs):
    def complete(self, shell, text, begun=""):
        """The words that a shell offers behind this line, for a word that has begun so."""
        script = self.folder / f"completion.{shell}"
        script.write_text(self.say("completion", shell).stdout)
        ask = {"bash": f"source {script}; COMP_WORDS=({text} '{begun}'); COMP_CWORD=$((${{#COMP_WORDS[@]}}-1)); "
                       "_safelaunch; printf '%s\\n' \"${COMPREPLY[@]}\"",
               "fish": f"source {script}; complete -C '{text} {begun}'"}[shell]
        environment = self.environment(PATH=f"{pathlib.Path(SAFELAUNCH).parent}:{os.environ['PATH']}", HOME=str(self.folder))
        done = subprocess.run([shell, "-c", ask], env=environment, cwd=self.folder, capture_output=True, text=True, timeout=60)
        return [line.split("\t")[0] for line in done.stdout.splitlines()]

    def test_bash_offers_the_ids_of_runs(self):
        self.say("true")
        for verb in ("report", "status", "stacks", "stop", "logs"):
            self.assertEqual(self.complete("bash", f"safelaunch {verb}"), self.ids())
        self.assertEqual(self.complete("bash", "safelaunch config"), ["show", "check", "path"])

    def test_fish_offers_the_ids_of_runs_and_no_options_behind_the_launcher(self):
        if not shutil.which("fish"):
            self.skipTest("no fish here")
        self.say("true")
        for verb in ("report", "stop", "logs"):
            self.assertIn(self.ids()[0], self.complete("fish", f"safelaunch {verb}"))
        self.assertIn("--init-timeout", self.complete("fish", "safelaunch --port 5 --only", "--"))
        self.assertIn("--html", self.complete("fish", "safelaunch report", "--"))
        for begun in ("safelaunch torchrun", "safelaunch --port 5 torchrun", "safelaunch run -- torchrun",
                      "safelaunch doctor torchrun report"):
            self.assertNotIn("--init-timeout", self.complete("fish", begun, "--"))
            self.assertNotIn("--fix", self.complete("fish", begun, "--"))
            self.assertNotIn("--html", self.complete("fish", begun, "--"))


if __name__ == "__main__":
    main(needs=())
