"""What a rank that stands still waits for: a message, a request of somebody outside, or something else."""
import itertools
import os
import unittest

import harness
from collector import Collector

# Rank 0 waits for the Work of messages, in one loop; rank 1 sends when it is told to.
AWAITS_ITS_MESSAGES = """
    import os, subprocess, time, torch, torch.distributed as dist
    dist.init_process_group("gloo")
    dist.all_reduce(torch.ones(1))
    if dist.get_rank() == 0:
        works = [dist.irecv(torch.ones(1), 1) for _ in range(2)]
        for work in works:
            work.wait()
            open(os.environ["GO"] + ".received", "w").close()
        subprocess.Popen("cat", stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.wait()
    while not os.path.exists(os.environ["GO"]):
        time.sleep(0.01)
    dist.send(torch.ones(1), 0)
    while not os.path.exists(os.environ["GO"] + ".again"):
        time.sleep(0.01)
    dist.send(torch.ones(1), 0)
    time.sleep(600)
"""
SCHEDULED = """
    import os, time, torch, torch.distributed as dist
    dist.init_process_group("gloo")
    dist.all_reduce(torch.ones(1))
    if dist.get_rank() == 0:
        batch = dist.batch_isend_irecv([dist.P2POp(dist.irecv, torch.ones(1), 1)])
        while batch:
            batch.pop().wait()
    time.sleep(600)
"""
# As vLLM's: a communicator that is made past torch.
PYNCCL = """
import pathlib, torch.distributed as dist
folder = pathlib.Path(__file__).parent / "vllm/distributed/device_communicators"
folder.mkdir(parents=True)
(folder / "pynccl.py").write_text('''
import time
class NCCLLibrary:
    def ncclCommInitRank(self, world, unique_id, rank):
        time.sleep(600)
class PyNcclCommunicator:
    def __init__(self, group, device):
        NCCLLibrary().ncclCommInitRank(2, None, 0)
''')
dist.init_process_group("gloo")
from vllm.distributed.device_communicators.pynccl import PyNcclCommunicator
PyNcclCommunicator(dist.group.WORLD, 0)
"""
PAUSES = "import time, torch, torch.distributed\n"
SERVERS = {
    "asyncio": """
import asyncio
async def serve():
    await (await asyncio.start_server(print, "127.0.0.1", 0)).serve_forever()
asyncio.run(serve())
""",
    "http": """
import http.server
http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler).serve_forever()
""",
    "accept": """
import socket
socket.create_server(("127.0.0.1", 0)).accept()
""",
    "a path": """
import os, socket
server = socket.socket(socket.AF_UNIX)
server.bind(os.path.abspath(__file__) + ".sock")
server.listen()
server.accept()
""",
    "queue": """
import queue, socket, threading
server, requests = socket.create_server(("127.0.0.1", 0)), queue.Queue()
threading.Thread(target=lambda: requests.put(server.accept()), daemon=True).start()
requests.get()
""",
    "gRPC": """
import threading
ended = threading.Condition()
exec(compile("def _wait_once():\\n with ended: ended.wait(600)\\ndef wait(): _wait_once()\\n", "/grpc/_common.py", "exec"))
exec(compile("def wait_for_termination(): wait()\\n", "/grpc/_server.py", "exec"))
wait_for_termination()
""",
}
if harness.importlib.util.find_spec("uvloop"):
    SERVERS["uvloop"] = SERVERS["asyncio"].replace("asyncio.run", "__import__('uvloop').run")
STUCK = {
    "a lock": "import threading\nlock = threading.Lock()\nlock.acquire()\nlock.acquire()\n",
    "sleep": "time.sleep(600)\n",
    "a dead peer": """
import asyncio, socket
server = socket.create_server(("127.0.0.1", 0))
async def ask():
    reader, writer = await asyncio.open_connection(*server.getsockname())
    await reader.read()
asyncio.run(ask())
""",
    "a lock, beside a server of its numbers": """
import http.server, threading
server = http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
threading.Thread(target=server.serve_forever, daemon=True).start()
lock = threading.Lock()
lock.acquire()
lock.acquire()
""",
    "a queue that nobody fills": "import queue\nqueue.Queue().get()\n",
    "its data, beside a server": """
import http.server, threading, torch.utils.data
server = http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
threading.Thread(target=server.serve_forever, daemon=True).start()
class Stuck(torch.utils.data.Dataset):
    def __len__(self): return 1
    def __getitem__(self, index): time.sleep(600)
loader = torch.utils.data.DataLoader(Stuck(), num_workers=1, pin_memory=True)
exec(compile("import queue; queue.Queue().get()", "/torch/utils/data/dataloader.py", "exec"))
""",
}


class Waits(harness.HookTest):
    def asked(self, text, ranks, check, **variables):
        """Calls check(ask) with what asks rank 0 for its counters."""
        with Collector() as collector:
            processes = harness.start_ranks(harness.script(text), harness.environment(collector), ranks, **variables)
            try:
                worker = collector.wait_for_worker("coll.done" if ranks > 1 else "imported", rank=0)
                numbers = itertools.count(1)
                check(lambda question="counters": worker.ask(question, next(numbers)))
                self.assert_no_fault(collector)
            finally:
                for process in processes:
                    process.kill()
                    process.communicate()

    def ask_until_it(self, ask, standing):
        self.assertTrue(any(ask()["uncounted"] == standing for _ in harness.numbers_for()), standing)

    def test_a_rank_that_makes_a_communicator_past_torch_meets_others_there(self):
        self.asked(PYNCCL, 1, lambda ask: self.ask_until_it(ask, "meets"))

    def test_a_rank_that_waits_for_the_work_of_a_message_stands_in_it(self):
        go = harness.script("", "go")
        os.remove(go)

        def check(ask):
            self.ask_until_it(ask, "stands")
            open(go, "w").close()
            while not os.path.exists(go + ".received"):
                ask()
            self.ask_until_it(ask, "stands")  # the same line, another message
            open(go + ".again", "w").close()
            self.assertTrue(any(not any(ask()["uncounted"] == "stands" for _ in range(5)) for _ in harness.numbers_for()))  # it waits for a child

        self.asked(AWAITS_ITS_MESSAGES, 2, check, GO=go)

    def test_a_rank_that_waits_for_a_batch_of_messages_stands_in_it(self):
        self.asked(SCHEDULED, 2, lambda ask: self.ask_until_it(ask, "stands"))

    def test_a_server_without_a_request_serves(self):
        for name, text in SERVERS.items():
            with self.subTest(name):
                self.asked(PAUSES + text, 1, lambda ask: self.ask_until_it(ask, "serves"))

    def test_a_rank_that_is_stuck_serves_nobody(self):
        for name, text in STUCK.items():
            with self.subTest(name):
                self.asked(PAUSES + text, 1, lambda ask: self.never_serves(ask, (PAUSES + text).count("\n")))

    def never_serves(self, ask, last_line):
        last = ":%d <module>" % last_line
        self.assertTrue(any(ask("stack")["threads"][0]["frames"][0].endswith(last) for _ in harness.numbers_for()))
        self.assertFalse(any(ask()["uncounted"] == "serves" for _ in range(50)))


if __name__ == "__main__":
    harness.main("torch")
