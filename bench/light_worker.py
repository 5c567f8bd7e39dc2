"""A worker without torch: it walks the stages as the hook would tell them, and can be told to spoil attempt 1.

It notes when things happen, in CLOCK_MONOTONIC ns, as files in $STAMPS: first-ATTEMPT-RANK (its first line),
fault-1-RANK (it spoils the start now) and term-ATTEMPT-RANK (it is asked to end).

    light_worker.py none|idle|die|stop|absent|crash

none: all stages, then the end; idle: all stages, then nothing for ever; die, stop, absent: rank 1 exits with 3,
stops itself, or never comes to its init, once the others wait there; crash: rank 1 saves a checkpoint and is
killed, once all have trained.
"""
import os
import time

FIRST_LINE = time.monotonic_ns()

import json  # noqa: E402  the first line is what is measured
import signal  # noqa: E402
import socket  # noqa: E402
import sys  # noqa: E402
import threading  # noqa: E402

RANK, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
ATTEMPT = int(os.environ.get("SAFELAUNCH_ATTEMPT") or int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")) + 1)
FAULT = sys.argv[1] if ATTEMPT == 1 else "none"
BAD_RANK = 1


def stamp(name, nanoseconds=None):
    path = "%s/%s-%d-%d" % (os.environ["STAMPS"], name, ATTEMPT, RANK)
    with open(path + ".new", "w") as file:
        file.write(str(nanoseconds or time.monotonic_ns()))
    os.rename(path + ".new", path)


def asked_to_end(number, frame):
    now = time.monotonic_ns()
    stamp("term", now)
    os._exit(128 + number)


class Hook:
    """Speaks docs/hook-protocol.md as the real one does; mute where nobody listens (under torchrun)."""

    def __init__(self):
        self.socket = None
        name = os.environ.get("SAFELAUNCH_HOOK")
        if not name:
            return
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.connect("\0" + name[1:] if name.startswith("@") else name)
        self.tell("hello", token=os.environ["SAFELAUNCH_HOOK_TOKEN"], pid=os.getpid(), ppid=os.getppid(),
                  python="3", argv=["light_worker.py"])
        self.tell("start")
        threading.Thread(target=self.answer, daemon=True).start()

    def tell(self, event, **fields):
        if self.socket:
            packet = dict(e=event, t=time.monotonic_ns(), rank=RANK, world=WORLD, local_rank=RANK, **fields)
            self.socket.send(json.dumps(packet).encode())

    def answer(self):
        with open("/proc/self/task/%d/comm" % threading.get_native_id(), "w") as file:
            file.write("safelaunch")
        answers = {"stack": dict(threads=[{"name": "MainThread", "frames": ["light_worker.py:1 wait"]}]),
                   "collectives": dict(last=[], members={}), "counters": dict(groups={}, waits={})}
        while request := self.socket.recv(65536):
            question = json.loads(request)
            if question["q"] in answers:
                self.tell(question["q"], id=question["id"], **answers[question["q"]])


def wait_for_others(name):
    """Until every other rank has noted that."""
    while not all(os.path.exists("%s/%s-1-%d" % (os.environ["STAMPS"], name, rank)) for rank in range(WORLD) if rank != BAD_RANK):
        time.sleep(0.005)


def crash():
    wait_for_others("trained")
    with open(os.environ["STAMPS"] + "/1.pt", "w") as file:
        file.write("saved")
    stamp("fault")
    os.kill(os.getpid(), signal.SIGKILL)


def spoil():
    wait_for_others("init")
    time.sleep(0.2)  # the others are at rest now, as they would be in a real wait
    stamp("fault")
    if FAULT == "die":
        os._exit(3)
    if FAULT == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    # A lock that nobody releases: nothing from outside can wake it, as a signal could wake a pause().
    never = threading.Lock()
    never.acquire()
    never.acquire()


def train(hook):
    hook.tell("imported", lib="torch", version="2.13.0")
    if FAULT in ("die", "stop", "absent") and RANK == BAD_RANK:
        spoil()
    hook.tell("init.enter", backend="gloo", backend_used="gloo", timeout_s=1800, init_method="env://")
    hook.tell("store.enter", host="127.0.0.1", port=29500, master=RANK == 0, init=True)
    stamp("init")
    if FAULT in ("die", "stop", "absent"):
        while True:
            signal.pause()
    hook.tell("store.exit", host="127.0.0.1", port=29500, master=RANK == 0, init=True)
    hook.tell("group", backend="gloo")
    hook.tell("coll.enter", op="all_reduce")
    hook.tell("coll.done", op="all_reduce", ms=1.0)
    stamp("trained")
    if FAULT == "crash" and RANK == BAD_RANK:
        crash()
    while FAULT in ("idle", "crash"):
        signal.pause()
    hook.tell("exit")


signal.signal(signal.SIGTERM, asked_to_end)
stamp("first", FIRST_LINE)
train(Hook())
