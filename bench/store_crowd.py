"""The peer of bench/agents.cc: clients of torch's TCPStore that meet as torch's own store barrier does.

    store_crowd.py board CLIENTS PORT    the server: says "ready"; at the end of its stdin "rss KIB"
    store_crowd.py crowd CLIENTS PORT    all clients, in this process: says the seconds from the first connection until each has
                                         seen the key "go"

Each client connects, counts itself (add), the last one sets "go", and each waits for that key. A client is a connection of its
own; 32 threads drive them, as a call of TCPStore blocks its thread. A thread waits for "go" once for each of its clients.
"""

import pathlib
import re
import resource
import sys
import threading
import time
from datetime import timedelta

from torch.distributed import TCPStore

THREADS = 32
PATIENCE = timedelta(seconds=120)


def connect(port, server):
    return TCPStore("127.0.0.1", port, None, server, timeout=PATIENCE, wait_for_workers=False)


def board(clients, port):
    store = connect(port, True)
    print("ready", flush=True)
    sys.stdin.read()
    status = pathlib.Path("/proc/self/status").read_text()
    print("rss", re.search(r"VmHWM:\s*(\d+)", status)[1], flush=True)
    del store


def crowd(clients, port):
    stores = []

    def live(count):
        mine = []
        for _ in range(count):
            mine.append(connect(port, False))
            if mine[-1].add("ready", 1) == clients:
                mine[-1].set("go", "1")
        stores.append(mine)
        for store in mine:
            store.wait(["go"], PATIENCE)

    shares = [len(range(thread, clients, THREADS)) for thread in range(THREADS)]
    threads = [threading.Thread(target=live, args=(share,)) for share in shares if share]
    began = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print("seconds", time.monotonic() - began, flush=True)


def main():
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    {"board": board, "crowd": crowd}[sys.argv[1]](int(sys.argv[2]), int(sys.argv[3]))


if __name__ == "__main__":
    main()
