"""`safelaunch report`: real runs as text, page and bundle, also of runs that go on or were cut off."""

import html.parser
import json
import os
import pathlib
import signal
import subprocess
import tarfile

from harness import DDP, SAFELAUNCH, SafelaunchTest, main, torchrun, wait_until

HUNG = 124
QUICK = ("--init-timeout", "4s", "--quiet-timeout", "4s", "--collective-timeout", "4s", "--only")


class Page(html.parser.HTMLParser):
    """A page's tags, and its text without markup."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.words = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return "".join(self.words)


class Report(SafelaunchTest):
    def test_an_end_that_is_not_recorded_is_told(self):
        # The disk refuses outcome.json, as a full one does.
        run = self.run_safelaunch("--", "mkdir", self.folder / "run-1/outcome.json")
        self.assert_status(run, 0)
        self.assertIn("safelaunch: warning: how this run ended is not recorded: Is a directory", run.err)

    def job(self, *words, **options):
        """Runs a job whose record lies where `report` looks for it."""
        environment = options.pop("env", self.environment())
        return subprocess.Popen([SAFELAUNCH, *map(str, words)], env=environment, cwd=self.folder, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)

    def failed_job(self, text="import sys; print('HF_TOKEN=hidden123value', file=sys.stderr); raise ValueError('no luck')", **options):
        job = self.job("--nproc-per-node", "2", "--no-hook", "--", "python3", self.script(text), **options)
        job.communicate(timeout=60)
        self.assertEqual(job.returncode, 1)

    def report(self, *words, status=0, env=None):
        # Runs are looked for in TMPDIR too.
        done = subprocess.run([SAFELAUNCH, "report", *map(str, words)], cwd=self.folder,
                              env={**(env or self.environment()), "TMPDIR": str(self.folder)},
                              capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout if status == 0 else done.stderr

    @property
    def runs_folder(self):
        return self.folder / "state/safelaunch/runs"

    def page(self, *words):
        file = self.folder / "page.html"
        self.report(*words, "--html", file)
        return Page(file.read_text())

    def test_a_report_as_json_is_the_outcome(self):
        self.failed_job()
        told = json.loads(self.report("--json"))
        outcome = json.loads(next(self.runs_folder.glob("*/outcome.json")).read_text())
        self.assertEqual((told["run"], told["exit_status"], told["attempts"]), (outcome["run"], outcome["exit_status"], outcome["attempts"]))
        self.assertEqual(json.loads(self.report("--json", "--html", self.folder / "page.html")), told)  # and nothing else
        self.assertEqual(json.loads(self.report("--json", "--bundle", self.folder / "bundle.tar.gz")), told)

    def test_a_hung_job_is_told_with_the_missing_rank_and_its_stack(self):
        run = self.run_safelaunch(*QUICK, *torchrun("--nproc-per-node", "2", DDP, "--hang", "never-init"))
        self.assert_status(run, HUNG)
        told = self.report(run.directory)
        self.assertIn("hung: rank 1 never joined the process group", told)
        self.assertIn("never_reaches_init", told)
        self.assertIn("exit status 124", told)
        page = self.page(run.directory)
        self.assertIn("never_reaches_init", page.text)
        self.assertIn("How far the ranks came", page.text)
        self.assertNotIn("script", page.tags)

    def test_without_a_name_the_newest_run_is_told(self):
        self.failed_job()
        self.failed_job("raise KeyError('the second')")
        self.assertIn("the second", self.report())
        oldest = sorted(self.runs_folder.iterdir(), key=lambda run: (run / "job.json").stat().st_mtime)[0]
        self.assertIn("no luck", self.report(oldest.name))

    def test_an_unknown_run_is_refused_with_the_nearest(self):
        self.assertIn("no run is recorded", self.report(status=64))
        self.failed_job()
        (run,) = self.runs_folder.iterdir()
        self.assertIn(f"did you mean '{run.name}'?", self.report(run.name[:-1] + "x", status=64))
        self.assertIn("did you mean '--html'?", self.report("--htlm", "x", status=64))

    def test_a_run_that_goes_on_is_told_as_far_as_it_has_come(self):
        job = self.job("--nproc-per-node", "1", "--no-hook", "--", "python3", "-c", "import signal; print('alive', flush=True); signal.pause()",
                       start_new_session=True)
        wait_until(lambda: list(self.folder.glob("state/safelaunch/runs/*/attempt-1-basic/rank-0.*")), what="the job's log")
        told = self.report()
        self.assertIn("still running", told)
        self.assertIn("| alive", told)
        job.send_signal(signal.SIGTERM)
        job.communicate(timeout=60)

    def test_the_memory_of_each_rank_is_recorded_while_the_job_speaks(self):
        stop, touched = self.folder / "stop", 64 << 20
        rank = self.script("import os, pathlib, time\n"
                           f"held = bytearray({touched}) if os.environ['RANK'] == '1' else b''\n"
                           f"while not pathlib.Path({str(stop)!r}).exists():\n    print('step', flush=True)\n    time.sleep(0.05)\n")
        job = self.start("--nproc-per-node", "2", "--no-hook", "--", "python3", rank)
        events = job.run_directory / "events.jsonl"
        wait_until(lambda: events.exists() and '"e":"usage"' in events.read_text(), what="the figures")
        stop.touch()
        run = self.finish(job)
        self.assert_status(run, 0)
        usage = [event for event in run.events if event["e"] == "usage"]
        self.assertEqual(usage[-1]["ranks"], [0, 1])
        self.assertGreater(usage[-1]["memory"][1], touched >> 20)
        self.assertLess(usage[-1]["memory"][0], usage[-1]["memory"][1])

    def test_with_rank_files_the_ranks_of_torchrun_are_told_apart_and_still_seen(self):
        rank = self.script("import os, sys\nprint('out of', os.environ['RANK'])\n"
                           "if os.environ['RANK'] == '1': print('an ERROR', file=sys.stderr)\n")
        run = self.run_safelaunch("--rank-files", *torchrun("--nproc-per-node", "2", rank))
        self.assert_status(run, 0)
        files = {file.name: file.read_text() for file in run.directory.glob("attempt-1-basic/rank-*")}
        self.assertEqual(files, {"rank-0.out": "out of 0\n", "rank-1.out": "out of 1\n", "rank-1.err": "an ERROR\n"})
        self.assertIn("[default1]:an ERROR", run.out + run.err)

    def test_a_run_whose_safelaunch_was_killed_is_told(self):
        job = self.job("--nproc-per-node", "1", "--no-hook", "--", "sleep", "1000")
        wait_until(lambda: list(self.folder.glob("state/safelaunch/runs/*/events.jsonl")), what="the record")
        job.kill()
        job.communicate(timeout=60)
        wait_until(lambda: "cut off" in self.report(), what="the end of the run")
        self.assertIn("Its safelaunch ended without writing an outcome", self.page().text)

    def test_hostile_output_stays_text(self):
        evil = "</pre><script>document.title='pwned'</script><img src=x onerror=alert(1)>"
        self.failed_job(f"import sys; sys.stderr.write({evil!r} + '\\x00\\x1b]0;own\\x07\\n' + 'x' * 10_000_000); raise ValueError({evil!r})")
        page = self.page()
        self.assertNotIn("script", page.tags)
        self.assertNotIn("img", page.tags)
        self.assertIn("<script>document.title='pwned'</script>", page.text)
        self.assertNotIn("\x1b", self.report())
        self.assertLess((self.folder / "page.html").stat().st_size, 3_000_000)

    def test_a_bundle_holds_the_run_and_no_secret(self):
        environment = self.environment(MY_API_KEY="canary-in-env-1")
        self.failed_job("import os; print('key is', os.environ['MY_API_KEY']); print('HF_TOKEN=canary-in-log-2'); raise ValueError('x')",
                        env=environment)
        file = self.folder / "bundle.tar.gz"
        self.assertIn("README.txt", self.report("--bundle", file, env=environment))
        self.assertEqual(file.stat().st_mode & 0o777, 0o600)
        with tarfile.open(file) as archive:
            inside = {pathlib.PurePath(m.name).relative_to(pathlib.PurePath(m.name).parts[0]).as_posix():
                      archive.extractfile(m).read().decode() for m in archive}
        for name in ("README.txt", "report.txt", "report.html", "job.json", "events.jsonl", "outcome.json", "system/versions",
                     "system/meminfo", "system/interfaces", "system/doctor"):
            self.assertIn(name, inside)
        # The rank that fails first may take the other with it before that has said a word.
        self.assertTrue({"attempt-1-basic/rank-0.out", "attempt-1-basic/rank-1.out"} & set(inside))
        for name, text in inside.items():
            self.assertNotIn("canary-in", text, name)
        self.assertIn("exists already", self.report("--bundle", file, status=64))

    def test_a_page_that_cannot_be_written_is_an_error(self):
        self.failed_job()
        self.assertIn("No such file", self.report("--html", "/nowhere/page.html", status=125))
        self.assertEqual([file for file in os.listdir(self.folder) if file.endswith(".new")], [])


if __name__ == "__main__":
    main()
