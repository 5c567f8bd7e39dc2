"""Where a trial happens: folders of its own, a launcher, and the promise that nothing of it stays behind."""

import itertools
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid

from harness import processes_with
from terminal import Terminal, shell_status

PATIENCE = 60
PYTHON = [sys.executable, "-S", "-c"]  # half the start of one with site-packages
INITS = ("tini", "dumb-init")
LAUNCHERS = ("torchrun", "accelerate", "deepspeed", "mpirun", "NVRx")
FEW = 3  # trials of a peer one start of which costs seconds
STEERING = ("SAFELAUNCH_", "PET_", "NCCL_", "MASTER_", "XDG_", "TORCHELASTIC_", "LC_", "LANG", "PYTHON")


class Launcher:
    """How a command is run: by safelaunch or by a peer; `words` are what stands before the command, for that many ranks."""

    def __init__(self, name, words, variables=None):
        self.name, self.words, self.variables = name, words, variables or {}
        self.program = next(iter(words(1)), "")
        self.installed = bool(shutil.which(self.program))
        self.trials = 20 if name in INITS else FEW  # of a peer, at most

    def argv(self, words, ranks=None, options=()):
        if self.name != "safelaunch":
            return [*self.words(ranks or 1), *words]
        return [self.program, *options, *(["--nproc-per-node", str(ranks)] if ranks else []), "--", *words]


def ours():
    return safelaunch_at(os.path.abspath(os.environ["SAFELAUNCH_BIN"]))


def safelaunch_at(program):
    return Launcher("safelaunch", lambda ranks: [program])


def peers(root):
    """Those of the tests' Python come before those in PATH."""
    os.environ["PATH"] = f"{root / 'build/venv/bin'}:{os.environ['PATH']}"
    to_rank = 'RANK=$OMPI_COMM_WORLD_RANK exec "$@"'
    return [
        Launcher("tini", lambda ranks: ["tini", "-s", "--"]),
        Launcher("dumb-init", lambda ranks: ["dumb-init", "--"]),
        Launcher("torchrun", lambda ranks: ["torchrun", "--no-python", f"--nproc_per_node={ranks}"]),
        Launcher("accelerate", lambda ranks: ["accelerate", "launch", *["--multi_gpu"] * (ranks > 1), f"--num_processes={ranks}",
                                              "--num_machines=1", "--mixed_precision=no", "--dynamo_backend=no", "--no_python"],
                 {"ACCELERATE_USE_CPU": "true"}),
        Launcher("deepspeed", lambda ranks: ["deepspeed", "--no_python", "--no_local_rank", f"--num_gpus={ranks}"],
                 {"DS_ACCELERATOR": "cpu"}),
        Launcher("mpirun", lambda ranks: ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(ranks),
                                          "sh", "-c", to_rank, "sh"]),
        Launcher("NVRx", lambda ranks: ["ft_launcher", "--no-python", f"--nproc_per_node={ranks}"]),
    ]


class Scene:
    """One trial's place; `place` is the folder of the whole experiment, which stands for HOME."""

    numbers = itertools.count(1)

    def __init__(self, place, launcher):
        self.place, self.launcher = place, launcher
        self.folder = place / f"{next(self.numbers)}"
        self.mark = f"SAFELAUNCH_TEST_MARK={uuid.uuid4().hex}"
        self.started = []

    def __enter__(self):
        for folder in (self.folder, self.folder / "work", self.folder / "tmp", self.folder / "run"):
            folder.mkdir(mode=0o700, exist_ok=True)
        return self

    def __exit__(self, *_):
        for process in self.started:
            if process.poll() is None:
                process.kill()
        for pid in self.left():
            end(pid)
        for process in self.started:
            process.communicate()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def work(self):
        return self.folder / "work"

    def environment(self, **more):
        keep = {name: value for name, value in os.environ.items() if not name.startswith(STEERING)}
        name, value = self.mark.split("=")
        return {**keep, "HOME": str(self.place), "TMPDIR": str(self.folder / "tmp"), "XDG_RUNTIME_DIR": str(self.folder / "run"),
                "XDG_STATE_HOME": str(self.folder / "state"), "OMP_NUM_THREADS": "1", name: value, **self.launcher.variables, **more}

    def left(self):
        return processes_with(self.mark)

    def argv(self, words, ranks=None, options=()):
        return self.launcher.argv([str(word) for word in words], ranks, options)

    def start(self, words, ranks=None, options=(), within=(), **popen):
        """Starts the launcher in a session of its own; `within` is a command that runs it, or all of it."""
        process = subprocess.Popen([*within, *(self.argv(words, ranks, options) if words else [])], **{
            "env": self.environment(), "cwd": self.work, "stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE, "start_new_session": True, **popen})
        self.started.append(process)
        return process

    def run(self, words, ranks=None, options=(), timeout=PATIENCE, **popen):
        return self.finish(self.start(words, ranks, options, **popen), timeout)

    @staticmethod
    def finish(process, timeout=PATIENCE):
        """(status as a shell tells it, stdout, stderr)"""
        out, err = process.communicate(timeout=timeout)
        return shell_status(process.returncode), out or b"", err or b""

    def verb(self, *words, **more):
        """What a verb of safelaunch answers: (status, stdout, stderr)."""
        done = subprocess.run([self.launcher.program, *map(str, words)], env=self.environment(**more), cwd=self.work, capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=PATIENCE)
        return shell_status(done.returncode), done.stdout, done.stderr

    def terminal(self, words, ranks=None, options=()):
        terminal = Terminal(self.argv(words, ranks, options), env=self.environment(), cwd=self.work)
        self.started.append(terminal.process)
        return terminal

    def records(self, name):
        """The files of that name in the records of the runs of this scene."""
        return sorted(pathlib.Path(self.folder / "state").glob(f"safelaunch/runs/*/**/{name}"))

    def until(self, condition, what, seconds=PATIENCE):
        """Seconds until it holds; a trial in which it never does is broken."""
        began = time.monotonic()
        while not condition():
            if time.monotonic() - began > seconds:
                raise AssertionError(f"not within {seconds} s: {what}")
            time.sleep(0.005)
        return time.monotonic() - began

    def ready(self, count=1, name="ready-*"):
        self.until(lambda: len(list(self.work.glob(name))) >= count, "the job is ready")

    def gone(self, seconds=10):
        """Seconds until nothing of the job is left."""
        began = time.monotonic()
        while left := self.left():
            if time.monotonic() - began > seconds:
                raise AssertionError(f"{len(left)} processes live on after {seconds} s")
            time.sleep(0.01)
        return time.monotonic() - began


def end(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def own_processes():
    """Goes on in a pid namespace of its own, where that is allowed: a safelaunch of somebody else would end what trials leave stale.

    The shell there reaps what comes to it.
    """
    apart = ["unshare", "-pf", "--kill-child", "--mount-proc", "sh", "-c", '"$@"; exit $?', "sh"]
    is_apart = os.environ.pop("PROMISES_APART", "")
    if is_apart or not shutil.which("unshare") or subprocess.run([*apart, "true"], capture_output=True).returncode:
        return
    os.environ["PROMISES_APART"] = "1"
    os.execvp(apart[0], [*apart, sys.executable, *sys.argv])


def fresh_place():
    """The folder of one experiment. Other users may pass through it: some trials change the user."""
    place = pathlib.Path(tempfile.mkdtemp(prefix="promises-"))
    place.chmod(0o711)
    return place
