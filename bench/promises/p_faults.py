"""P2, P15, P16: killed or failing at any system call, safelaunch leaves no process and no state that it cannot read."""

import collections
import functools
import json
import re
import shutil
import subprocess

from promises.scene import Scene, safelaunch_at
from promises.tries import Untried, expect, tries

LEAVES = ["sh", "-c", "(setsid sleep 600 >/dev/null 2>&1 &); echo $RANK; sleep 0.05"]
SIMPLE = ["sh", "-c", "echo trained; exit 7"]
CALL = re.compile(r"(\d+) +(\w+)\(")
# Not brk: on a failure the kernel answers with the old end of the heap, and strace's error would be read as an address.
ERRORS = {
    "EMFILE": "open openat socket socketpair pipe pipe2 eventfd2 epoll_create1 timerfd_create signalfd4 pidfd_open dup accept4",
    "ENFILE": "openat socket pipe2", "ENOMEM": "mmap clone clone3 fork vfork", "EAGAIN": "clone clone3 fork vfork",
    "ENOSPC": "write writev pwrite64 mkdir mkdirat rename renameat fallocate", "EIO": "read write writev fsync fdatasync pread64",
    "EINTR": "read write poll ppoll epoll_wait wait4 waitid connect sendmsg recvmsg"}


def _strace(words, log, *options):
    if not shutil.which("strace"):
        raise Untried("strace is not installed")
    return ["strace", "-f", "-qq", "-o", str(log), *options]


@functools.cache
def _calls(place, program, ranks, only_ours):
    """Every (call, N) of a recorded run: the Nth time that some process makes it."""
    counts = collections.defaultdict(collections.Counter)
    with Scene(place, safelaunch_at(program)) as scene:
        words = SIMPLE if only_ours else LEAVES
        scene.run(words, ranks, within=_strace(words, scene.folder / "log", *(["-b", "execve"] if only_ours else [])))
        for line in (scene.folder / "log").read_text(errors="replace").splitlines():
            if match := CALL.match(line):
                counts[match[2]][match[1]] += 1
    most = {call: max(of.values()) for call, of in counts.items()}
    return sorted((call, n) for call, times in most.items() for n in range(1, times + 1) if not call.startswith("exit"))


def _chosen(pairs, dice):
    """Each call as likely as another, however often it is made."""
    call = dice.choice(sorted({call for call, _ in pairs}))
    return call, dice.choice([n for name, n in pairs if name == call])


def _both_killed(log):
    """Whether no half of safelaunch is left that could end what the job has started: the next start does."""
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    halves = list(dict.fromkeys(line.split()[0] for line in lines))[:2]
    killed = {line.split()[0] for line in lines if "+++ killed by SIGKILL" in line}
    return len(halves) == 2 and killed.issuperset(halves)


def _end(process, log):
    """Waits for strace. It waits for all that it traces; of what both halves have left it is let go."""
    for _ in range(60):
        try:
            return process.communicate(timeout=0.5)
        except subprocess.TimeoutExpired:
            if _both_killed(log):
                process.kill()
    process.kill()
    raise AssertionError("it hangs")


def _expect_readable(scene):
    for path in scene.records("outcome.json"):
        json.loads(path.read_text())
    for path in scene.records("events.jsonl"):
        for line in path.read_text().split("\n")[:-1]:
            json.loads(line)
    status, _, err = scene.verb("runs")
    expect(status < 125, f"`runs` ends with {status}: {err!r}")


def _expect_next_start(scene):
    status, out, err = scene.run(["echo", "next"])
    expect((status, out) == (0, b"next\n"), f"the next start ends with {status}: {err[-200:]!r}")
    scene.gone(2)


@tries("P2", "SIGKILL at a system call (strace): nothing is left, the record can be read, the next start works", 25, 5000, "s")
def killed_at_a_call(scene, number, dice):
    call, n = _chosen(_calls(scene.place, scene.launcher.program, 2, False), dice)
    log = scene.folder / "log"
    try:
        process = scene.start(LEAVES, 2, within=_strace(LEAVES, log, "-e", f"inject={call}:signal=KILL:when={n}"))
        _end(process, log)
        seconds = 0.0 if _both_killed(log) else scene.gone(1)
        _expect_readable(scene)
        _expect_next_start(scene)
        return seconds
    except (AssertionError, ValueError) as wrong:
        raise AssertionError(f"{call} {n}: {wrong}") from None


def _loader_dies(injection):
    """Whether the C library's loader itself crashes on that failure, before any program's first word."""
    return subprocess.run(["strace", "-qq", "-o", "/dev/null", "-e", injection, "/bin/true"], capture_output=True).returncode < 0


@tries("P15", "a system call of safelaunch fails (strace): the job runs as ever, or a line says what failed; nothing hangs, nothing "
       "is left", 40, 5000)
def failing_call(scene, number, dice):
    ranks = dice.choice([None, 2])
    error = dice.choice(sorted(ERRORS))
    pairs = [(call, n) for call, n in _calls(scene.place, scene.launcher.program, ranks, True) if call in ERRORS[error].split()]
    if not pairs:
        return
    call, n = _chosen(pairs, dice)
    log = scene.folder / "log"
    try:
        process = scene.start(SIMPLE, ranks, within=_strace(SIMPLE, log, "-b", "execve", "-e", f"inject={call}:error={error}:when={n}"))
        status, out, err = scene.finish(process, 30)
        if status >= 128 and _loader_dies(f"inject={call}:error={error}:when={n}"):
            return
        whole = status == 7 and out == b"trained\n" * (ranks or 1)
        expect(whole or err.strip(), f"status {status}, {out!r}, and not a word")
        expect(status < 128, f"it died by signal {status - 128}: {err[-300:]!r}")
        scene.gone(2)
    except (AssertionError, subprocess.TimeoutExpired) as wrong:
        raise AssertionError(f"{call} {n} {error}, ranks {ranks}: {wrong}") from None


def _spoil(path, dice):
    data = path.read_bytes()
    at, size = dice.randrange(len(data) + 1), dice.randint(1, 200)
    how = dice.randrange(4)
    path.write_bytes([dice.randbytes(len(data) + size), data[:at], data[:at] + dice.randbytes(size) + data[at + size:],
                      b"{" * dice.randint(1, 100_000)][how])


@tries("P16", "files of the state are random bytes, cut off or nested: no verb dies of it, and the next start works", 30, 5000)
def spoiled_state(scene, _, dice):
    scene.run(["sh", "-c", "exit 3"], ranks=2)
    files = [path for path in (scene.folder / "state").rglob("*") if path.is_file() and not path.is_symlink()]
    expect(files, "there is no state")
    spoilt = dice.sample(sorted(files), min(len(files), dice.randint(1, 4)))
    for path in spoilt:
        _spoil(path, dice)
    for verb in (["runs"], ["report"], ["report", "--json"], ["status"], ["logs"], ["clean", "--dry-run"]):
        status, _, err = scene.verb(*verb)
        expect(status < 125, f"`{' '.join(verb)}` ends with {status} after {[path.name for path in spoilt]} were spoilt: {err[-200:]!r}")
    _expect_next_start(scene)
