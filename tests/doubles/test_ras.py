"""RAS in libnccl's double: the service at NCCL_RAS_ADDR tells what the ranks of a job that hangs have come to."""

import os
import re
import signal
import socket
import unittest

from test_doubles import ALL_LINES, DoublesTest, free_port, run_job


def ask_ras(port):
    """RAS's answer. The processes share the port, so that one that is stopped may get the question."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=3) as client:
            client.sendall(b"CLIENT PROTOCOL 2\nTIMEOUT 3\nVERBOSE STATUS\n")
            return b"".join(iter(lambda: client.recv(65536), b"")).decode()
    except TimeoutError:
        return "no answer"
    except ConnectionError:
        return "nobody listens"


class Ras(DoublesTest):
    def assert_tells(self, expected, *words, first=lambda pids: None, **environment):
        """Three ranks hang, `first` is done to their processes, and sooner or later RAS's answer is the expected one."""
        port, answers = free_port(), []

        def enough(logs):
            if not all("Init COMPLETE" in log for log in logs):
                return False
            if not answers:
                first([int(re.search(r":(\d+):", log)[1]) for log in logs])
            answers.append(ask_ras(port))
            return re.search(expected, answers[-1])

        run_job(3, *words, enough=enough, seconds=20, NCCL_RAS_ADDR=f"127.0.0.1:{port}", NCCL_RUNTIME_CONNECT="0",
                SAFELAUNCH_DOUBLE_FAULT="no-kernel", **ALL_LINES, **environment)
        self.assertRegex(answers[-1], expected)

    def test_all_is_well(self):
        self.assert_tells(r"^SERVER PROTOCOL 2\nOK\nNCCL version 2.29.7 (.*\n)* +0 .* RUNNING +OK\n\nErrors\n=*\n\nWarnings\n=*\n\n$")

    def test_a_rank_that_is_behind_is_named(self):
        self.assert_tells(r"MISMATCH\n.*\n  2 ranks have launched up to operation 1\n"
                          r"  Rank 1 has not launched any operations -- GPU 1 managed by process \d+ on node ", "--idle-rank", "1")

    def test_a_process_that_is_stopped_is_missing(self):
        self.assert_tells(r"Errors\n======\n\nINCOMPLETE\n  Missing communicator data from 1 job process\n  Process \d+ on node "
                          r".* GPU 2\n\n#0-0 ", first=lambda pids: os.kill(pids[2], signal.SIGSTOP))

    def test_a_process_that_has_gone_is_dead(self):
        self.assert_tells(r"\nDEAD\n  1 job process is considered dead .*\n  Process \d+ on node .* managing GPU 2\n",
                          first=lambda pids: os.kill(pids[2], signal.SIGKILL))

    def test_before_2_24_and_where_it_is_off_nobody_listens(self):
        for quiet in {"SAFELAUNCH_DOUBLE_NCCL": "2.21.5"}, {"NCCL_RAS_ENABLE": "0"}:
            with self.subTest(quiet):
                self.assert_tells("^nobody listens$", **quiet)


if __name__ == "__main__":
    unittest.main(verbosity=2)
