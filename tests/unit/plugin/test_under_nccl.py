"""The plugin in workers whose NCCL loads it: its double (tests/doubles) as the version it plays would, real ones as they do.

    SAFELAUNCH_PLUGIN=libsafelaunch-nccl.so SAFELAUNCH_DOUBLES=FOLDER SAFELAUNCH_WORKER=nccl_worker python test_under_nccl.py

Real ones are those that SAFELAUNCH_TEST_NCCL names, over doubles of CUDA: kernels do nothing there, but they are launched.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

TESTS = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TESTS), str(TESTS / "hook"), str(TESTS / "doubles")]
from collector import TOKEN, Collector  # noqa: E402
from free_port import free_port  # noqa: E402
from real_nccl import real_nccls, why_not  # noqa: E402

PLUGIN = os.environ["SAFELAUNCH_PLUGIN"]
DOUBLES = os.environ["SAFELAUNCH_DOUBLES"]
WORKER = os.environ["SAFELAUNCH_WORKER"]
RANKS = 2


def start_workers(collector, *words, **more):
    common = dict(
        os.environ, WORLD_SIZE=str(RANKS), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port()),
        NCCL_SOCKET_IFNAME="lo", NCCL_PROFILER_PLUGIN=PLUGIN, SAFELAUNCH_HOOK=collector.name, SAFELAUNCH_HOOK_TOKEN=TOKEN, **more)
    return [subprocess.Popen([WORKER, *words], env=dict(common, RANK=str(rank), LOCAL_RANK=str(rank)),
                             stdout=subprocess.DEVNULL) for rank in range(RANKS)]


def double(version, **more):
    """What makes workers use NCCL's double."""
    return {"LD_LIBRARY_PATH": DOUBLES, "SAFELAUNCH_DOUBLE_NCCL": version, **more}


def end(workers):
    for worker in workers:
        worker.kill()
        worker.wait()


class PluginTest(unittest.TestCase):
    def heard(self, *words, **environment):
        """The workers' events, by rank, of a job that ends well."""
        with Collector(abstract=True) as collector:
            workers = start_workers(collector, *words, **environment)
            self.assertEqual([worker.wait(60) for worker in workers], [0] * RANKS)
            for rank in range(RANKS):
                collector.wait_for_worker("coll.issued", rank=rank)
            collector.drained()
            return {worker.events[-1]["rank"]: worker for worker in collector.workers}

    def assert_only_the_call_is_told(self, heard, interface):
        for rank, worker in heard.items():
            self.assertEqual(worker.events[0]["plugin"], interface)
            self.assertEqual(worker.names(), ["comm", "coll.issued"])
            self.assertEqual(worker.first("comm")["met"], interface == 4)
            issued = worker.first("coll.issued")
            self.assertFalse(issued["followed"])
            self.assertEqual((issued["rank"], issued["world"]), (rank, RANKS))
            self.assertGreater(issued["comm"], 0)

    def assert_followed_to_its_end(self, heard):
        self.assertEqual(len({worker.first("comm")["comm"] for worker in heard.values()}), 1)
        for rank, worker in heard.items():
            self.assertEqual(worker.events[0]["plugin"], 5)
            self.assertEqual(worker.names(), ["comm", "coll.issued", "coll.done"])
            made = worker.first("comm")
            self.assertEqual((made["comm_rank"], made["comm_size"], made["met"]), (rank, RANKS, True))
            self.assertEqual(worker.first("coll.issued")["op"], "AllReduce")
            self.assertTrue(worker.first("coll.done")["observed"])


class UnderItsDouble(PluginTest):
    def test_before_2_23_there_is_no_profiler_interface(self):
        with Collector(abstract=True) as collector:
            workers = start_workers(collector, **double("2.21.5"))
            self.assertEqual([worker.wait(60) for worker in workers], [0] * RANKS)
            self.assertEqual(collector.workers, [])

    def test_up_to_2_27_the_first_collective_is_told_and_no_end(self):
        for version, interface in (("2.23.4", 1), ("2.24.3", 2), ("2.26.5", 3), ("2.27.7", 4)):
            with self.subTest(version):
                self.assert_only_the_call_is_told(self.heard(**double(version)), interface)

    def test_from_2_28_the_first_collective_is_followed_to_its_end(self):
        for version in ("2.28.9", "2.29.7", "2.30.7", "2.32.3"):
            with self.subTest(version):
                self.assert_followed_to_its_end(self.heard(**double(version)))

    def test_of_a_kernel_that_never_ends_no_end_is_told(self):
        with Collector(abstract=True) as collector:
            workers = start_workers(collector, **double("2.28.9", SAFELAUNCH_DOUBLE_FAULT="no-kernel"))
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
            workers = start_workers(collector, **double("2.28.9"))
            self.assertEqual([worker.wait(60) for worker in workers], [0] * RANKS)


@unittest.skipIf(why_not(DOUBLES), why_not(DOUBLES))
class UnderRealOnes(PluginTest):
    """Their own loader takes our newest table that it knows."""

    def test_of_the_first_collective_is_told_what_the_release_lets_us_see(self):
        with tempfile.TemporaryDirectory() as folder:
            for library in real_nccls(folder, DOUBLES, since=(2, 23)):
                with self.subTest(library.name):
                    heard = self.heard("--any-sum", **library.environment)
                    interface = {23: 1, 24: 2, 25: 2, 26: 3, 27: 4}.get(library.version[1], 5)
                    if interface < 5:
                        self.assert_only_the_call_is_told(heard, interface)
                    else:
                        self.assert_followed_to_its_end(heard)


if __name__ == "__main__":
    unittest.main(verbosity=2)
