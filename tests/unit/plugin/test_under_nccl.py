"""The plugin in workers whose NCCL (its double, tests/doubles) loads it as the version it plays would.

    SAFELAUNCH_PLUGIN=libsafelaunch-nccl.so SAFELAUNCH_DOUBLES=FOLDER SAFELAUNCH_WORKER=nccl_worker python test_under_nccl.py
"""

import os
import pathlib
import socket
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "hook"))
from collector import TOKEN, Collector  # noqa: E402

PLUGIN = os.environ["SAFELAUNCH_PLUGIN"]
DOUBLES = os.environ["SAFELAUNCH_DOUBLES"]
WORKER = os.environ["SAFELAUNCH_WORKER"]
RANKS = 2


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start_workers(collector, version, **more):
    common = dict(
        os.environ, WORLD_SIZE=str(RANKS), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port()), LD_LIBRARY_PATH=DOUBLES,
        NCCL_SOCKET_IFNAME="lo", NCCL_PROFILER_PLUGIN=PLUGIN, SAFELAUNCH_DOUBLE_NCCL=version,
        SAFELAUNCH_HOOK=collector.name, SAFELAUNCH_HOOK_TOKEN=TOKEN, **more)
    return [subprocess.Popen([WORKER], env=dict(common, RANK=str(rank), LOCAL_RANK=str(rank)), stdout=subprocess.DEVNULL)
            for rank in range(RANKS)]


def end(workers):
    for worker in workers:
        worker.kill()
        worker.wait()


class UnderNccl(unittest.TestCase):
    def heard(self, version):
        """The workers' events, by rank, of a job that ends well."""
        with Collector(abstract=True) as collector:
            workers = start_workers(collector, version)
            self.assertEqual([worker.wait(60) for worker in workers], [0] * RANKS)
            for rank in range(RANKS):
                collector.wait_for_worker("coll.issued", rank=rank)
            collector.drained()
            return {worker.events[-1]["rank"]: worker for worker in collector.workers}

    def test_before_2_23_there_is_no_profiler_interface(self):
        with Collector(abstract=True) as collector:
            workers = start_workers(collector, "2.21.5")
            self.assertEqual([worker.wait(60) for worker in workers], [0] * RANKS)
            self.assertEqual(collector.workers, [])

    def test_up_to_2_27_the_first_collective_is_told_and_no_end(self):
        for version, interface in (("2.23.4", 1), ("2.24.3", 2), ("2.26.5", 3), ("2.27.7", 4)):
            with self.subTest(version):
                for rank, worker in self.heard(version).items():
                    self.assertEqual(worker.events[0]["plugin"], interface)
                    self.assertEqual(worker.names(), ["comm", "coll.issued"])
                    self.assertEqual(worker.first("comm")["met"], interface == 4)
                    issued = worker.first("coll.issued")
                    self.assertFalse(issued["followed"])
                    self.assertEqual((issued["rank"], issued["world"]), (rank, RANKS))
                    self.assertGreater(issued["comm"], 0)

    def test_from_2_28_the_first_collective_is_followed_to_its_end(self):
        for version in ("2.28.9", "2.29.7", "2.30.7", "2.32.3"):
            with self.subTest(version):
                heard = self.heard(version)
                self.assertEqual(len({worker.first("comm")["comm"] for worker in heard.values()}), 1)
                for rank, worker in heard.items():
                    self.assertEqual(worker.events[0]["plugin"], 5)
                    self.assertEqual(worker.names(), ["comm", "coll.issued", "coll.done"])
                    made = worker.first("comm")
                    self.assertEqual((made["comm_rank"], made["comm_size"], made["met"]), (rank, RANKS, True))
                    self.assertEqual(worker.first("coll.issued")["op"], "AllReduce")
                    self.assertTrue(worker.first("coll.done")["observed"])

    def test_of_a_kernel_that_never_ends_no_end_is_told(self):
        with Collector(abstract=True) as collector:
            workers = start_workers(collector, "2.28.9", SAFELAUNCH_DOUBLE_FAULT="no-kernel")
            try:
                for rank in range(RANKS):
                    collector.wait_for_worker("coll.issued", rank=rank)
            finally:
                end(workers)
            collector.drained()
            for worker in collector.workers:
                self.assertEqual(worker.names(), ["comm", "coll.issued"])

    def test_a_job_goes_on_when_safelaunch_goes(self):
        with Collector(abstract=True) as collector:
            collector.close()
            workers = start_workers(collector, "2.28.9")
            self.assertEqual([worker.wait(60) for worker in workers], [0] * RANKS)


if __name__ == "__main__":
    unittest.main(verbosity=2)
