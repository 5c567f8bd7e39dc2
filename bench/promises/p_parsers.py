"""P21: samples of each language that safelaunch reads, changed at random, come in by the program's own doors."""

import functools
import subprocess
import time

from harness import ROOT
from promises.scene import PATIENCE, PYTHON
from promises.tries import expect, tries

CHANGES = 60  # of one sample in one trial
TOKENS = (b"\0", b"\xff\xfe", b"\n", b" ", b"-", b":", b"{", b"}", b"[" * 3000, b"\"", b"'", b"\\u0000", b"&a ", b"*a", b"!!binary ",
          b"9" * 20, b"-1", b"1e999", b"null", b"true", b"%s%n", b"x" * 70_000, b"\xf0\x9f\x98")
REQUESTS = b"""{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}}}
{"jsonrpc": "2.0", "method": "notifications/initialized"}
{"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
{"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "explain", "arguments": {"text": "NCCL WARN x"}}}
"""
HELLO = (b'{"e": "hello", "t": NOW, "rank": 0, "world": 1, "local_rank": 0, '
         b'"token": "TOKEN", "pid": PID, "ppid": 1, "python": "3", "argv": ["t"]}')
PACKETS = b"""{"e": "start", "t": NOW, "rank": 0, "world": 1, "local_rank": 0}
{"e": "imported", "t": NOW, "rank": 0, "world": 1, "local_rank": 0, "lib": "torch", "version": "2.13.0"}
{"e": "init.enter", "t": NOW, "rank": 0, "world": 1, "local_rank": 0, "backend": "gloo", "timeout_s": 1800, "init_method": "env://"}
{"e": "coll.enter", "t": NOW, "rank": 0, "world": 1, "local_rank": 0, "op": "all_reduce"}
{"e": "exception", "t": NOW, "rank": 0, "world": 1, "local_rank": 0, "type": "ValueError", "text": "no"}"""
# A job that says what is in a file, line by line, where its rank's hook would say it; each connection says hello first.
SPEAKS = """
import os, socket, time
name, token = os.environ["SAFELAUNCH_HOOK"], os.environ["SAFELAUNCH_HOOK_TOKEN"].encode()
def filled(packet):
    return packet.replace(b"TOKEN", token).replace(b"PID", b"%d" % os.getpid()).replace(b"NOW", b"%d" % time.monotonic_ns())
for sample in sorted(os.listdir("samples")):
    one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        one.connect("\\0" + name[1:] if name.startswith("@") else name)
        for packet in [HELLO, *open("samples/" + sample, "rb").read().split(b"\\n")]:
            if packet: one.send(filled(packet))
    except OSError: pass  # a connection that is refused after such a packet
print("spoken")
""".replace("HELLO", repr(HELLO))
# A job that writes what is in a file where NCCL would write its log.
LOGS = """
import os, socket
name = os.environ["NCCL_DEBUG_FILE"].replace("%h", socket.gethostname()).replace("%p", str(os.getpid()))
for sample in sorted(os.listdir("samples")):
    with open(name, "ab") as log: log.write(open("samples/" + sample, "rb").read())
print("spoken")
"""


def changed(sample, dice):
    """The sample with a few bytes, words or pieces changed, left out or repeated."""
    data = bytearray(sample)
    for _ in range(dice.randint(1, 6)):
        at = dice.randrange(len(data) + 1)
        end = min(len(data), at + dice.choice([1, 1, 4, 40]))
        data[at:end] = dice.choice([b"", dice.randbytes(end - at), dice.choice(TOKENS), bytes(data[at:end]) * 2])
    return bytes(data[:dice.randrange(len(data) + 1)] if dice.random() < 0.1 else data)


def _expect_answer(scene, words, given, door):
    done = subprocess.run([scene.launcher.program, *words], env=scene.environment(), cwd=scene.work, input=given, capture_output=True,
                          timeout=PATIENCE)
    expect(0 <= done.returncode < 125, f"{door} ended with {done.returncode}: {done.stderr[-200:]!r}, given {given[:2000]!r}")


@functools.cache
def _profiles():
    return [path.read_bytes() for path in sorted((ROOT / "profiles").rglob("*.yaml"))]


@tries("P21", f"{CHANGES} changed profiles, read by `profiles check`", 1, 200, "s")
def profiles(scene, _, dice):
    slowest = 0
    for _ in range(CHANGES):
        given = changed(dice.choice(_profiles()), dice)
        (scene.work / "changed.yaml").write_bytes(given)
        began = time.monotonic()
        _expect_answer(scene, ["profiles", "check", "./changed.yaml"], given, "profiles check")
        slowest = max(slowest, time.monotonic() - began)
    return slowest


@tries("P21", f"{CHANGES} changed requests to `mcp`, in one go", 3, 1000)
def requests(scene, _, dice):
    _expect_answer(scene, ["mcp"], b"".join(changed(REQUESTS, dice) + b"\n" for _ in range(CHANGES)), "mcp")


def _expect_job_lives(scene, script, sample, dice, heard):
    """The first sample is whole: it proves that somebody reads there."""
    (scene.work / "samples").mkdir()
    for number in range(CHANGES):
        (scene.work / f"samples/{number:03}").write_bytes(changed(sample, dice) if number else sample)
    status, out, err = scene.run([*PYTHON, script], ranks=1)
    expect(status == 0 and b"spoken" in out, f"status {status}: {out[-200:]!r} {err[-300:]!r}")
    expect(heard in b"".join(path.read_bytes() for path in scene.records("events.jsonl")), "nobody has read the first sample")


@tries("P21", f"{CHANGES} changed talks of a rank's hook: the job ends as ever", 2, 1000)
def hook(scene, _, dice):
    _expect_job_lives(scene, SPEAKS, PACKETS, dice, b'"imported"')


@tries("P21", f"{CHANGES} changed logs of NCCL: the job ends as ever", 2, 1000)
def nccl_logs(scene, _, dice):
    logs = sorted((ROOT / "tests/data/nccl").glob("*.log"))
    _expect_job_lives(scene, LOGS, dice.choice(logs).read_bytes()[:20_000], dice, b'"nccl"')
