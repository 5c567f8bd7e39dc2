"""M11, the job's port: launches that fail because somebody takes the port between its choice and the rank that listens on it."""

import random
import socket
import subprocess
import sys

from figures import Row

PORTS = range(23000, 23016)
HOLDS = 8  # at a time, so that a port is always free
LAUNCHES_PER_PAIR = 25

# Binds whatever is free, as a server does that does not ask for SO_REUSEADDR, and lets go of the oldest.
THIEF = f"""
import collections, socket
held = collections.deque()
print("ready", flush=True)
while True:
    for port in range({PORTS.start}, {PORTS.stop}):
        taker = socket.socket()
        try: taker.bind(("", port))
        except OSError: taker.close(); continue
        held.append(taker)
        if len(held) > {HOLDS}: held.popleft().close()
"""
# As torch's TCPStore on rank 0.
RANK = """
import os, socket
server = socket.socket()
server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
server.bind(("", int(os.environ["MASTER_PORT"])))
server.listen()
"""


def _found_free():
    """As launchers choose: a port that could be bound, and was let go."""
    while True:
        with socket.socket() as probe:
            port = random.choice(PORTS)
            try:
                probe.bind(("", port))
            except OSError:
                continue
            return port


def _fails(argv, bench, **variables):
    return subprocess.run(argv, env=bench.environment(**variables), cwd=bench.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL).returncode != 0


def measure(bench):
    rank = [sys.executable, "-S", "-c", RANK]
    ours = [bench.safelaunch, "--port", f"{PORTS.start}-{PORTS.stop - 1}", "--only", "--nproc-per-node", "1", "--", *rank]
    launches, failed, theirs = bench.pairs * LAUNCHES_PER_PAIR, 0, 0
    with subprocess.Popen([sys.executable, "-S", "-c", THIEF], stdout=subprocess.PIPE) as thief:
        assert thief.stdout.readline() == b"ready\n", "the thief has not begun"
        try:
            for _ in range(launches):
                failed += _fails(ours, bench)
                theirs += _fails(rank, bench, MASTER_PORT=str(_found_free()))
        finally:
            thief.terminate()
    return [Row(figure="M11", what=f"{launches:,} launches beside a thief that binds every free port of {len(PORTS)}: failed", unit="launches",
                goal="0", met=failed == 0, ours=failed, ours_p95=failed, peer="a port that was found free", peers=theirs, pairs=launches)]
