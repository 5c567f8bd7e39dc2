"""What the README, docs and examples tell a user to type is understood, word by word."""

import os
import pathlib
import re
import shlex
import subprocess

from harness import SAFELAUNCH, SafelaunchTest, main

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "README.zh-CN.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "examples").rglob("*.*"))]

# What a reader fills in, and what their own shell would.
FILLED_IN = {"NODE": "1", "ADDR": "10.0.0.1", "PORT": "29500", "DEVICES": "0", "WORLD": "2", "START": "1", "$HEAD": "10.0.0.1",
             '"$head"': "10.0.0.1", '"$@"': "train.py"}


def commands_in(document):
    """The commands that begin with safelaunch: lines of code, and words between backquotes."""
    text = re.sub(r"\\\n\s*", " ", document.read_text())
    begin = " {4}" if document.suffix == ".md" else r"[# ]*(?:exec )?"
    lines = re.findall(rf"^{begin}(?:\$ |.*-task=\d+ )?(safelaunch .*)$", text, re.M)
    spans = [" ".join(span.split()) for span in re.findall(r"`(?:\w+=\S+ )*(safelaunch [^`]+)`", text)]
    for command in {*(re.sub(r"\s+#.*", "", line) for line in lines), *spans}:
        for word, value in FILLED_IN.items():
            command = re.sub(rf"(?<!\S){re.escape(word)}(?=[:\s]|$)", value, command)
        yield command


class Documents(SafelaunchTest):
    def setUp(self):
        super().setUp()
        (self.folder / "bin").mkdir()
        for name in ("torchrun", "deepspeed", "accelerate"):
            self.program(f"bin/{name}")
        self.program("my_launch.sh")
        for name in ("train.py", "train_sft.py", "main.py", "main_deepspeed.py"):
            (self.folder / name).write_text("")
        (self.folder / "fewer.yaml").write_text("name: fewer\nprocesses: 2\n")
        self.help = {verb: self.say("help", verb).stdout for verb in self.verbs()}

    def program(self, name):
        (self.folder / name).write_text("#!/bin/sh\n")
        (self.folder / name).chmod(0o755)

    def say(self, *words):
        environment = self.environment(HOME=str(self.folder), LD_LIBRARY_PATH=os.environ["SAFELAUNCH_DOUBLES"], SAFELAUNCH_DOUBLE_GPUS="2")
        environment["PATH"] = f"{self.folder}/bin:{environment['PATH']}"
        return subprocess.run([SAFELAUNCH, *words], env=environment, cwd=self.folder, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=120)

    def verbs(self):
        return re.findall(r"^  ([a-z]+) ", self.say("--help").stdout, re.M)

    def assert_verb_takes(self, verb, words):
        for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*", words):
            self.assertIn(option, self.help[verb])

    def assert_would_run(self, words):
        done = self.say("--no-preflight", "--dry-run", *words)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_every_command_of_the_documents_is_understood(self):
        tried = 0
        for document in DOCUMENTS:
            for command in commands_in(document):
                first, _, rest = command.removeprefix("safelaunch ").partition(" ")
                with self.subTest(document=document.name, command=command):
                    if first in self.help:
                        self.assert_verb_takes(first, rest)
                        tried += 1
                    elif not re.search(r"…|\[|^safelaunch COMMAND", command) and re.search(r"\.(py|sh)\b", command):
                        self.assert_would_run(shlex.split(command)[1:])
                        tried += 1
        self.assertGreater(tried, 50)


if __name__ == "__main__":
    main(needs=())
