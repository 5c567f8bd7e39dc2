"""A rank without torch: it meets the others at MASTER_PORT, and tells safelaunch so as the hook would.

    light_worker.py [SEED]

With a seed it is slow at every step: it works or sleeps for up to a second, each rank in its own way.
"""

import json
import os
import random
import socket
import sys
import time

RANK, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
STORE = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
SLOWEST = 1.0


class Hook:
    """Speaks docs/hook-protocol.md; mute where nobody listens."""

    def __init__(self):
        name = os.environ.get("SAFELAUNCH_HOOK", "")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) if name else None
        if self.socket:
            self.socket.connect("\0" + name[1:] if name.startswith("@") else name)
        self.tell("hello", token=os.environ.get("SAFELAUNCH_HOOK_TOKEN"), pid=os.getpid(), ppid=os.getppid(),
                  python="3", argv=["light_worker.py"])
        self.tell("start")

    def tell(self, event, **fields):
        if self.socket:
            packet = {"e": event, "t": time.monotonic_ns(), "rank": RANK, "world": WORLD, "local_rank": RANK, **fields}
            self.socket.send(json.dumps(packet).encode())


class Store:
    """All ranks meet at rank 0: whoever comes waits for the last one."""

    def __init__(self):
        if RANK == 0:
            server = socket.create_server(STORE)
            self.others = [server.accept()[0] for _ in range(WORLD - 1)]
        else:
            self.others = [connect()]

    def meet(self):
        if RANK == 0:
            for other in self.others:
                assert other.recv(1)
        for other in self.others:
            other.sendall(b"x")
        if RANK != 0:
            assert self.others[0].recv(1)


def connect():
    while True:  # as torch does until rank 0 listens
        try:
            return socket.create_connection(STORE)
        except ConnectionRefusedError:
            time.sleep(0.05)


def dawdle(moods):
    if moods is None:
        return
    seconds = moods.uniform(0, SLOWEST)
    if moods.random() < 0.5:
        return time.sleep(seconds)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(10_000))


def main():
    moods = random.Random(f"{sys.argv[1]} {RANK}") if len(sys.argv) > 1 else None
    hook = Hook()
    dawdle(moods)
    hook.tell("imported", lib="torch", version="2.13.0")
    dawdle(moods)
    hook.tell("init.enter", backend="gloo", backend_used="gloo", timeout_s=1800, init_method="env://")
    address = {"host": STORE[0], "port": STORE[1], "master": RANK == 0, "init": True}
    hook.tell("store.enter", **address)
    store = Store()
    hook.tell("store.exit", **address)
    store.meet()
    hook.tell("group", backend="gloo")
    dawdle(moods)
    hook.tell("coll.enter", op="allreduce_")
    store.meet()
    hook.tell("coll.done", op="allreduce_", ms=1.0)
    hook.tell("exit")
    if RANK == 0:
        print(f"{WORLD} ranks met at port {STORE[1]}")


if __name__ == "__main__":
    main()
