"""P12, P13, P14: every line arrives once and whole, training outlives its logs, and hostile output harms nobody."""

import collections
import hashlib
import os
import pathlib
import re
import signal
import subprocess
import threading

from harness import children_of
from promises.scene import LAUNCHERS, PYTHON
from promises.tries import Untried, expect, tries

RANKS, LINES = 4, 2000
# Numbered lines: whole, in two halves, byte by byte, and long ones; the last word tells that all have been written.
EMITS = """
import os, signal, sys
rank, how, lines = os.environ.get("RANK", "0"), sys.argv[1], int(sys.argv[2])
for number in range(lines):
    filling = b"x" * (9000 if how == "long" and number % 50 == 0 else number % 120)
    line = b"%s %d %s end\\n" % (rank.encode(), number, filling)
    pieces = {"halves": 2, "bytes": len(line)}.get(how, 1) if number % 20 == 0 or how == "halves" else 1
    step = -(-len(line) // pieces)
    for at in range(0, len(line), step):
        os.write(1 + number % 2 * (how == "both"), line[at:at + step])
open("ready-" + rank, "w").close()
if len(sys.argv) > 3: os.kill(os.getpid(), signal.SIGKILL)
"""
HOWS = ("whole", "halves", "bytes", "long", "both")
LINE = re.compile(rb"(\d+) (\d+) (x*) end\Z")


def _expect_all_lines(data, where, ranks=RANKS, lines=LINES):
    """Each (rank, number) once, and nothing but whole lines."""
    found = collections.Counter()
    for line in data.split(b"\n")[:-1]:
        match = LINE.match(line)
        expect(match, f"{where}: a line is no whole line: {line[:60]!r}")
        found[int(match[1]), int(match[2])] += 1
    wanted = {(rank, number) for rank in range(ranks) for number in range(lines)}
    lost, twice = len(wanted - set(found)), sum(1 for count in found.values() if count > 1)
    expect(not lost and not twice, f"{where}: {lost} lines lost, {twice} twice")


def _expect_record(scene):
    for rank in range(RANKS):
        written = b"".join(path.read_bytes() for path in scene.records(f"rank-{rank}.out") + scene.records(f"rank-{rank}.err"))
        numbers = sorted(int(line.split()[1]) for line in written.splitlines())
        expect(numbers == list(range(LINES)), f"the file of rank {rank} has {len(numbers)} of {LINES} lines")


@tries("P12", f"{RANKS * LINES} numbered lines of {RANKS} ranks, written whole, in pieces, long, to both streams", 10, 500,
       peers=LAUNCHERS)
def each_line(scene, number, _):
    _, out, err = scene.run([*PYTHON, EMITS, HOWS[number % len(HOWS)], LINES], ranks=RANKS)
    if scene.launcher.name != "safelaunch":
        err = b"".join(line + b"\n" for line in err.split(b"\n") if LINE.match(line))
    _expect_all_lines(out + err, "the output")
    if scene.launcher.name == "safelaunch":
        _expect_record(scene)


@tries("P12", "the lines of ranks that are killed right after the last", 10, 500)
def killed_ranks(scene, number, _):
    out, err = scene.run([*PYTHON, EMITS, HOWS[number % 4], LINES, "killed"])[1:]
    _expect_all_lines(out, "the output", ranks=1)


@tries("P12", "the lines that were written before the supervisor was killed", 10, 500)
def killed_supervisor(scene, number, _):
    with open(scene.folder / "out", "wb") as out:
        process = scene.start([*PYTHON, EMITS + "\nimport time\ntime.sleep(600)\n", "whole", 200], stdout=out)
        scene.ready()
        record = lambda: b"".join(path.read_bytes() for path in scene.records("launcher.out"))
        scene.until(lambda: record().count(b"\n") == 200, "the record has all lines", 10)
        os.kill(children_of(process.pid)[0], signal.SIGKILL)
        process.communicate(timeout=10)
    _expect_all_lines(record(), "the record", 1, 200)
    _expect_all_lines((scene.folder / "out").read_bytes(), "the output", 1, 200)


TRAINS = "head -c 3000000 /dev/zero; echo trained; touch ready-$RANK; exit 7"
SMALL = 'mount -t tmpfs -o size="$1",mode=1777 none "$2" || exit 77; shift 2; exec "$@"'


def small_disk(folder, size):
    """The words that run a command with a small disk of its own at that folder."""
    if os.geteuid():
        raise Untried("only root may mount")
    return ["unshare", "-m", "sh", "-c", SMALL, "small", size, str(folder)]


@tries("P13", "the disk below the record is full: the job ends as ever, its output is whole, and the loss is told", 6, 200)
def full_disk(scene, _, dice):
    disk = scene.folder / "state"
    disk.mkdir()
    status, out, err = scene.run(["sh", "-c", TRAINS], within=small_disk(disk, f"{dice.choice([64, 128, 512])}k"))
    expect((status, out) == (7, bytes(3_000_000) + b"trained\n"), f"status {status}, {len(out)} bytes: {err[-300:]!r}")
    expect(b"No space left" in err, "the loss is not told")


STREAMS = {"a full disk": ">/dev/full", "a reader that has left": "| head -c 1 >/dev/null", "closed": ">&-"}


@tries("P13", "stdout is a full disk, a reader that has left, closed: the job works to its end", 6, 200, peers=LAUNCHERS)
def bad_stdout(scene, number, _):
    name, how = list(STREAMS.items())[number % 3]
    job = ["sh", "-c", "i=0; while [ $i -lt 2000 ]; do echo line $i; i=$((i+1)); done; touch ready-0"]
    shell = subprocess.run(["sh", "-c", f'"$@" {how}', "sh", *scene.argv(job)], env=scene.environment(), cwd=scene.work,
                           stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    expect((scene.work / "ready-0").exists(), f"{name}: the job did not end its work: {shell.stderr[-200:]!r}")


@tries("P13", "the files of the record are removed or moved while the job writes", 6, 200)
def moved_files(scene, number, _):
    process = scene.start(["sh", "-c", "echo first; touch ready-0; until [ -e go ]; do sleep 0.01; done; echo second; exit 7"])
    scene.ready()
    scene.until(lambda: scene.records("launcher.out"), "the record")
    for path in scene.records("launcher.out"):
        path.unlink() if number % 2 else path.rename(scene.folder / "moved")
    (scene.work / "go").touch()
    status, out, _ = scene.finish(process)
    expect((status, out) == (7, b"first\nsecond\n"), f"status {status}, output {out!r}")


HOSTILE = """
import os, random, sys
dice = random.Random(sys.argv[1])
signs = [b"\\0", b"\\x1b]0;title\\a", b"\\x1b[2J", b"\\x9b31m", b"\\xff\\xfe", b"\\r", b"[rank1] ", b"safelaunch: hung\\n",
         b"NCCL INFO comm 0x1 rank 0 nranks 2 - Init COMPLETE\\n", b"\\n", b"x" * 5000, b"\\xf0\\x9f\\x98"]
left = int(sys.argv[2])
while left > 0:
    piece = b"".join(dice.choices(signs, k=100))
    sys.stdout.buffer.write(piece)
    left -= len(piece)
sys.stdout.flush()
open("ready-0", "w").close()
sys.stdin.read()
"""
HOSTILE_BYTES = 16 << 20
MOST_MB = 16


def _digest_of(stream, sink):
    for piece in iter(lambda: stream.read1(1 << 20), b""):
        sink.update(piece)


@tries("P14", f"{HOSTILE_BYTES >> 20} MB of NULs, escapes, broken UTF-8 and forged words: byte-exact on stdout and in the record; memory",
       4, 100, unit="MB")
def hostile(scene, number, _):
    words = [*PYTHON, HOSTILE, number, HOSTILE_BYTES]
    bare, seen = hashlib.sha256(), hashlib.sha256()
    (scene.folder / "bare").mkdir()
    bare.update(subprocess.run(list(map(str, words)), capture_output=True, stdin=subprocess.DEVNULL, cwd=scene.folder / "bare").stdout)
    process = scene.start(words, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
    reader = threading.Thread(target=_digest_of, args=(process.stdout, seen))
    reader.start()
    scene.ready()
    peak = max(int(re.search(r"RssAnon:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1])
               for pid in (process.pid, *children_of(process.pid))) / 1024
    process.stdin.close()
    expect(process.wait(60) == 0, "the status is not 0")
    reader.join()
    process.stdin = process.stdout = None
    record = hashlib.sha256(b"".join(path.read_bytes() for path in scene.records("launcher.out")))
    expect(seen.digest() == bare.digest(), "stdout differs")
    expect(record.digest() == bare.digest(), "the record differs")
    expect(b"training" not in b"".join(path.read_bytes() for path in scene.records("events.jsonl")), "a forged line counted")
    expect(peak <= MOST_MB, f"{peak:.0f} MB of memory of its own")
    return peak


CONTROLS = [chr(code) for code in (*range(1, 32), 127, *range(0x80, 0xA0), 0x202E, 0x2066, 0x200B) if code not in (9, 10)]


@tries("P14", "control characters in a command and in a rank's words: none in what safelaunch itself says", 6, 100)
def harmless_words(scene, _, dice):
    evil = "".join(dice.sample(CONTROLS, 8)) + "\x1b]0;title\x07\x1b[31m"
    _, out, err = scene.run(["sh", "-c", "exit 3", evil], ranks=1)
    run = scene.records("job.json")[0].parent.name
    told = [err, *(scene.verb(*verb)[1] for verb in (("report",), ("runs",), ("report", "--json"), ("status", run)))]
    bad = {sign for text in told for sign in CONTROLS if sign in text.decode(errors="replace")}
    expect(not bad, f"shown: {sorted(map(hex, map(ord, bad)))}")
