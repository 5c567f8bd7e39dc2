"""P22 and P23: files that others could change decide nothing, and secrets are in no record and on no screen."""

import gzip
import os
import pathlib
import shlex

from promises.tries import Untried, expect, tries
from secrets_corpus import Corpus, parts_of

SETTINGS = "env: {NCCL_BUFFSIZE: '7777'}\n"
PROFILE = "name: planted\nenv: {NCCL_BUFFSIZE: '7777'}\n"
SHOW = ["sh", "-c", "echo size=$NCCL_BUFFSIZE"]


def _replace_by_link(path):
    path.rename(path.with_suffix(".real"))
    path.symlink_to(path.with_suffix(".real"))


def _replace_by(make):
    return lambda path: (path.unlink(), make(path))


ATTACKS = {
    "the group can write": lambda path: path.chmod(0o664), "all can write": lambda path: path.chmod(0o646),
    "another's": lambda path: os.chown(path, 65534, 65534), "a link": _replace_by_link,
    "a link to another's": lambda path: (os.chown(path, 65534, 65534), _replace_by_link(path)),
    "a FIFO": _replace_by(os.mkfifo), "a folder": _replace_by(os.mkdir),
    "a link to a device": _replace_by(lambda path: path.symlink_to("/dev/zero")),
    "too big": lambda path: path.write_text(path.read_text() + "#" * (1 << 20)),
    "its key comes twice": lambda path: path.write_text(path.read_text() * 2),
    "an alias bomb": lambda path: path.write_text(path.read_text() + "a: &a [x]\nb: [*a, *a]\n")}
# Where the file lies, what it says, and the options that name it.
PLACES = {
    "--config": ("work/mine.yaml", SETTINGS, ["--config", "mine.yaml"]),
    "the user's settings": ("config/safelaunch/safelaunch.yaml", SETTINGS, []),
    "a profile by its path": ("work/planted.yaml", PROFILE, ["--profile", "./planted.yaml"]),
    "a profile of the user's": ("config/safelaunch/profiles/planted.yaml", PROFILE, ["--profile", "planted"]),
    "a profile of the folder": ("work/profiles/planted.yaml", PROFILE, ["--profile", "planted"])}
CASES = [(place, attack) for place in PLACES for attack in ATTACKS]


@tries("P22", f"{len(CASES)} files of settings and profiles that others could change, or that are none: not one is heeded", len(CASES),
       len(CASES))
def untrusted_file(scene, number, _):
    if os.geteuid():
        raise Untried("only root can give a file away")
    place, attack = CASES[number]
    path, text, options = PLACES[place]
    path = scene.folder / path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o600)
    environment = scene.environment(XDG_CONFIG_HOME=str(scene.folder / "config"))
    heeded = lambda: scene.run(SHOW, options=options, env=environment, timeout=20)
    expect(heeded()[1] == b"size=7777\n", f"{place}: not even a file of our own is heeded")
    ATTACKS[attack](path)
    status, out, err = heeded()
    expect(b"7777" not in out, f"{place}, {attack}: it was heeded")
    expect(status in (0, 64, 78) and err, f"{place}, {attack}: status {status}, {err!r}")


def _words_of(text):
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def _expect_no_leak(canaries, what, text):
    leaks = [f"{form}: {whole}" for form, whole, secrets in canaries for secret in secrets for part in parts_of(secret) if part in text]
    expect(not leaks, f"{len(leaks)} secrets are in {what}, such as {leaks[:1]}")


@tries("P23", "secrets in arguments and variables: parts of 8 bytes of them in the record, `report`, `runs`, `--dry-run`, the page, "
       "the bundle", 4, 200)
def secrets(scene, number, dice):
    canaries = [one for one in Corpus(seed=number).canaries() if "\n" not in one[1] and "\x1b" not in one[1]]
    words, variables = [], {}
    for form, text, _ in canaries:
        name, equals, value = text.removeprefix("export ").partition("=")
        if form == "variables of the shell" and equals and name.isidentifier():
            variables[name] = value
        words.append(text)
        if form in ("options of programs", "passwords behind short options"):
            words += [word for word in _words_of(text) if word != "|"]
    environment = scene.environment(**variables)
    command = ["sh", "-c", "exit 3", *words]
    err = scene.run(command, ranks=2, env=environment)[2].decode(errors="replace")
    expect("failed first" in err, f"the job did not run: {err[-300:]}")
    _expect_no_leak(canaries, "stderr", err)
    files = [path for pattern in ("job.json", "events.jsonl", "outcome.json", "report.html", "env.diff") for path in scene.records(pattern)]
    expect(len(files) >= 4, "there is no record")
    for path in files:
        _expect_no_leak(canaries, path.name, path.read_text(errors="replace"))
    bundle = scene.folder / "b.tgz"
    for verb in (["report"], ["runs"], ["report", "--json"], ["report", "--bundle", bundle]):
        told = scene.verb(*verb, **variables)
        _expect_no_leak(canaries, verb[0], b"".join(told[1:]).decode(errors="replace"))
    _expect_no_leak(canaries, "the bundle", gzip.decompress(pathlib.Path(bundle).read_bytes()).decode(errors="replace"))
    plan = scene.run(command, ranks=2, options=("--dry-run",), env=environment)
    _expect_no_leak(canaries, "--dry-run", b"".join(plan[1:]).decode(errors="replace"))
