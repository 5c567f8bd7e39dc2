"""No secret of the corpus is in anything that safelaunch records, shows or hands on. What the job prints is its own."""

import gzip
import json
import shlex
import subprocess

from harness import SAFELAUNCH, SafelaunchTest, main, wait_until
from secrets_corpus import Corpus, parts_of

JOB = """
import os, pathlib, sys, time
here = pathlib.Path(sys.argv[1])
text = (here / "texts").read_text()
sys.stdout.write(text)
sys.stdout.flush()
(here / ("said-" + os.environ["RANK"])).touch()
while not (here / "go").exists():
    time.sleep(0.02)
sys.stderr.write(text)
raise ValueError("\\n".join((here / "lines").read_text().splitlines()[int(os.environ["RANK"])::40]))
"""


class Secrets(SafelaunchTest):
    def setUp(self):
        super().setUp()
        self.canaries = Corpus().canaries()
        (self.folder / "texts").write_text("\n".join(text for _, text, _ in self.canaries))
        lines = [(form, text) for form, text, _ in self.canaries if "\n" not in text and "\x1b" not in text]
        words = [text for _, text in lines]
        (self.folder / "lines").write_text("\n".join(words))
        for form, text in lines:
            if form in ("options of programs", "passwords behind short options"):
                words += [word for word in self.words_of(text) if word != "|"]
        self.env = {**self.environment(), "TMPDIR": str(self.folder)}
        settings = []
        for form, text in lines:
            name, equals, value = text.removeprefix("export ").partition("=")
            if form == "variables of the shell" and equals and name.isidentifier():
                self.env[name] = value
                settings += ["--set", f"{name}_SET={value}"]
        job = ["python3", self.script(JOB), str(self.folder), *words]
        self.command = [*settings, "--json", "--nproc-per-node", "2", "--", *map(str, job)]

    @staticmethod
    def words_of(text):
        try:
            return shlex.split(text)
        except ValueError:
            return text.split()

    def safelaunch(self, *words):
        done = subprocess.run([SAFELAUNCH, *map(str, words)], cwd=self.folder, env=self.env, capture_output=True, timeout=300)
        return (done.stdout + done.stderr).decode(errors="replace")

    def check(self, what, text):
        self.assertTrue(text, what)
        leaks = [f"{form}: {text_}: …{text[max(0, text.index(part) - 40):text.index(part) + 20]}…"
                 for form, text_, secrets in self.canaries for secret in secrets for part in parts_of(secret) if part in text]
        self.assertEqual(leaks, [], f"{len(leaks)} secrets are in {what}")

    def test_a_run_full_of_secrets_leaks_none(self):
        self.check("--dry-run", self.safelaunch("--dry-run", *[word for word in self.command if word != "--json"]))
        self.check("--dry-run --json", self.safelaunch("--dry-run", *self.command))
        with open(self.folder / "stderr", "wb") as stderr:
            job = subprocess.Popen([SAFELAUNCH, *self.command], env=self.env, cwd=self.folder, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=stderr)
        wait_until(lambda: all((self.folder / f"said-{rank}").exists() for rank in (0, 1)))
        self.check("status", self.safelaunch("status"))
        self.check("status --json", self.safelaunch("status", "--json"))
        (self.folder / "go").touch()
        self.assertEqual(job.wait(timeout=300), 1)

        said = (self.folder / "stderr").read_text(errors="replace")
        told = said[said.rindex("\n{\n"):]
        json.loads(told)
        self.check("--json on stderr", told)
        run = max(self.folder.glob("**/job.json")).parent
        for name in ("job.json", "events.jsonl", "outcome.json", "report.html"):
            self.check(name, (run / name).read_text())
        self.check("env.diff", next(run.glob("attempt-1*/env.diff")).read_text())
        self.check("report", self.safelaunch("report"))
        self.safelaunch("report", "--html", self.folder / "page.html")
        self.check("page", (self.folder / "page.html").read_text())
        self.safelaunch("report", "--bundle", self.folder / "b.tgz")
        self.check("bundle", gzip.decompress((self.folder / "b.tgz").read_bytes()).decode(errors="replace"))


if __name__ == "__main__":
    main()
