"""What the integration tests share: running the real safelaunch on real launchers, and looking at what it left.

SAFELAUNCH_BIN names the executable; the Python that runs the tests is the one whose torch is used.
"""

import contextlib
import ctypes
import fcntl
import glob
import itertools
import json
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import uuid

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from compiled_extensions import kept_extensions  # noqa: E402, F401
from free_port import free_port  # noqa: E402, F401

# Jobs run in folders of their own, so a relative path would lead nowhere.
SAFELAUNCH = os.path.abspath(os.environ.get("SAFELAUNCH_BIN", ROOT / "build/release/launcher/cli/safelaunch"))
DDP = str(ROOT / "examples/ddp/train.py")
BY_FORK = str(ROOT / "tests/by_fork.py")
BIN = pathlib.Path(sys.executable).parent
SOAK = os.environ.get("SAFELAUNCH_SOAK") == "1"
SKIPPED = 77  # what ctest takes for "skipped"


def torchrun(*words):
    return [sys.executable, "-m", "torch.distributed.run", *words]


def forked(*words, ranks=2):
    """Ranks that one Python forks when it has imported torch: for scenes in which no launcher decides anything."""
    return [sys.executable, BY_FORK, ranks, free_port(), *words]


def is_alive(pid):
    """A zombie is dead: whoever adopts an orphan need not reap it at once."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def children_of(pid):
    return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def processes_with(mark):
    """Pids of live processes (zombies are dead) whose environment carries the mark of one test."""
    found = []
    for path in glob.glob("/proc/[0-9]*/environ"):
        try:
            environment = pathlib.Path(path).read_bytes()
            state = pathlib.Path(path).with_name("stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if mark.encode() in environment and state not in "ZX":
            found.append(int(path.split("/")[2]))
    return found


def wait_until(condition, seconds=180, what="the condition"):
    """Polls until the condition holds; fails loudly instead of hanging."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"{what} did not come true within {seconds} s")
        time.sleep(0.02)


def own_network():
    """Gives this process, and all it starts, a network namespace with nothing but lo: port 29500 is ours alone.

    False where that is not allowed.
    """
    new_network, get_flags, set_flags, up = 0x40000000, 0x8913, 0x8914, 1
    if ctypes.CDLL(None).unshare(new_network) != 0:
        return False
    with socket.socket() as any_socket:
        request = fcntl.ioctl(any_socket, get_flags, struct.pack("16sh14x", b"lo", 0))
        flags = struct.unpack("16sh14x", request)[1]
        fcntl.ioctl(any_socket, set_flags, struct.pack("16sh14x", b"lo", flags | up))
    return True


# With processes of its own alone: any compiler of this user might be building the same extension.
APART = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"] if os.geteuid() == 0 else []

# Every rank trains; then rank 1 leaves the others alone.
HANGS_IN_TRAINING = '''
import os
import time

import torch
import torch.distributed as dist


def loads_data():
    open("late", "w").close()
    time.sleep(3600)


dist.init_process_group("gloo")
for step in range(20):
    dist.all_reduce(torch.ones(4))
    time.sleep(0.05)  # as long as the first one's end is looked for
if os.environ["RANK"] == "1":
    loads_data()
dist.all_reduce(torch.ones(4))
'''


class Run:
    """One finished run: status, output, and the record in its run directory."""

    def __init__(self, status, out, err, directory, seconds):
        self.status, self.out, self.err, self.directory, self.seconds = status, out, err, directory, seconds

    @property
    def outcome(self):
        return json.loads((self.directory / "outcome.json").read_text())

    @property
    def attempts(self):
        return self.outcome["attempts"]

    @property
    def events(self):
        return [json.loads(line) for line in (self.directory / "events.jsonl").read_text().splitlines()]

    def __str__(self):
        return f"status {self.status} after {self.seconds:.1f} s\n--- stdout\n{self.out}\n--- stderr\n{self.err}"


class SafelaunchTest(unittest.TestCase):
    """A folder of its own, state kept there, and the promise that no process outlives a test."""

    maxDiff = None

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="safelaunch-test-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.mark = f"SAFELAUNCH_TEST_MARK={uuid.uuid4().hex}"
        self.runs = itertools.count(1)  # its next() may be called from several threads

    def tearDown(self):
        left = processes_with(self.mark)
        for pid in left:  # ours, by the mark: the machine must not fill up when a test fails
            os.kill(pid, 9)
        self.assertEqual(left, [], "processes outlived the test")

    def environment(self, **more):
        name, value = self.mark.split("=")
        ours = ("SAFELAUNCH_", "PET_", "NCCL_", "MASTER_", "LC_ALL", "LC_MESSAGES", "LANG")  # tests read English
        keep = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
        return {**keep, "PATH": f"{BIN}:{keep.get('PATH', '')}", "XDG_STATE_HOME": str(self.folder / "state"),
                "OMP_NUM_THREADS": "1", "DS_ACCELERATOR": "cpu", name: value, **more}

    def start(self, *words, env=None, apart=(), **options):
        """Starts safelaunch in the background, below the command `apart`; the caller waits with `finish`."""
        directory = self.folder / f"run-{next(self.runs)}"
        began = time.monotonic()
        process = subprocess.Popen(
            [*apart, SAFELAUNCH, "--run-dir", str(directory), *map(str, words)], env=env or self.environment(),
            **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL, "cwd": self.folder, **options})
        process.run_directory, process.began = directory, began
        return process

    def finish(self, process, timeout=180):
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            account = self.account_of(process)
            process.kill()
            out, err = process.communicate()
            self.fail(f"no end within {timeout} s, {account}\n{out}\n{err}")
        return Run(process.returncode, (out or b"").decode(errors="replace"), (err or b"").decode(errors="replace"),
                   process.run_directory, time.monotonic() - process.began)

    def account_of(self, process):
        """The last of what the run has noted, the latest first, and what each thread of safelaunch waits in."""
        events = process.run_directory / "events.jsonl"
        noted = events.read_text().splitlines()[:-31:-1] if events.exists() else ["no events.jsonl"]
        with contextlib.suppress(OSError):  # a thread may end meanwhile
            for task in pathlib.Path(f"/proc/{process.pid}/task").iterdir():
                noted.append(f"{task.name} in {(task / 'wchan').read_text()}")
        return "\n".join(noted)

    def run_safelaunch(self, *words, timeout=180, **options):
        return self.finish(self.start(*words, **options), timeout)

    def verb(self, *words):
        """What a verb says; it must succeed."""
        return subprocess.run([SAFELAUNCH, *map(str, words)], env=self.environment(), cwd=self.folder, text=True,
                              capture_output=True, timeout=60, check=True).stdout

    def script(self, text, name="job.py"):
        """A script in the test's folder."""
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o755)
        return str(path)

    def program_for_all(self):
        """A copy of safelaunch that another user may execute: a checkout may lie in root's home, which is closed to others."""
        program = self.folder / "safelaunch"
        if not program.exists():
            shutil.copy(SAFELAUNCH, program)
            program.chmod(0o755)
        return program

    def assert_status(self, run, status):
        self.assertEqual(run.status, status, str(run))


def main(needs=("torch",)):
    """Runs the tests of a file; skips where a module is missing."""
    import importlib.util

    missing = [name for name in needs if importlib.util.find_spec(name) is None]
    if missing:
        print(f"skipped: this Python has no {', '.join(missing)}")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
