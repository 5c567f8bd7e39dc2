"""The tests' own safelaunch loses nothing of a process that has ended before it was looked at."""
import json
import os
import socket

import harness
from collector import TOKEN, Collector


class Drained(harness.HookTest):
    def test_a_connection_in_the_backlog_is_waited_for(self):
        for _ in range(100):
            with Collector() as collector:
                with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as worker:
                    worker.connect(collector.name)
                    worker.send(json.dumps({"e": "hello", "token": TOKEN, "pid": os.getpid()}).encode())
                self.assertEqual(len(collector.drained().workers), 1)


if __name__ == "__main__":
    harness.main()
