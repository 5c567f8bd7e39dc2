"""`safelaunch probe` over several nodes: hosts made of network namespaces, with the doubles of libcuda and libnccl,
whose ranks really meet over the network between the hosts."""

import json
import os
import pathlib
import signal
import subprocess
import tempfile
import unittest

import hosts
from harness import SAFELAUNCH, SafelaunchTest, main, processes_with, wait_until

BUILD = pathlib.Path(SAFELAUNCH).resolve().parents[2]
DOUBLES = pathlib.Path(os.environ.get("SAFELAUNCH_DOUBLES", BUILD / "tests/doubles/lib"))
LIMIT = 120  # of one probe; far more than it takes


def own_environment():
    return {k: v for k, v in os.environ.items() if not k.startswith(("SAFELAUNCH_", "NCCL_", "MASTER_"))}


class Scene:
    """A probe that goes on over some hosts, each the node of its place in the list. None is a node that never comes;
    `ill` is in the environment of the last one alone."""

    def __init__(self, where, numbers, folder, environment, *words, ill=None):
        self.folder, self.mark = folder, environment["SAFELAUNCH_TEST_MARK"]
        self.agents = []
        for node, host in enumerate(numbers):
            if host is None:
                continue
            env = {**environment, "HOME": str(folder), "XDG_STATE_HOME": str(folder / f"state{node}"),
                   "LD_LIBRARY_PATH": str(DOUBLES), "SAFELAUNCH_DOUBLE_GPUS": "1", "NCCL_SOCKET_IFNAME": "eth0",
                   **(ill or {} if node == len(numbers) - 1 else {})}
            command = [SAFELAUNCH, "probe", "--nccl", DOUBLES / "libnccl.so.2", "--nnodes", len(numbers), "--node-rank",
                       node, "--master-addr", where.addresses[numbers[0]], "--profile", "basic", *words]
            with open(folder / f"out{node}", "wb") as out, open(folder / f"err{node}", "wb") as err:
                self.agents.append(subprocess.Popen(where.on(host, *command), env=env, cwd=folder, stdout=out,
                                                    stderr=err, stdin=subprocess.DEVNULL))

    def said(self, name):
        return (self.folder / name).read_text(errors="replace")

    def all_said(self):
        return "\n".join(f"--- {one.name}\n{one.read_text(errors='replace')}" for one in
                         sorted([*self.folder.glob("out*"), *self.folder.glob("err*")]))

    def statuses(self):
        try:
            return [agent.wait(LIMIT) for agent in self.agents]
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError("no end\n" + self.all_said()) from None

    def kill(self):
        for agent in self.agents:
            agent.kill()
            agent.wait()


@unittest.skipIf(hosts.why_not(), hosts.why_not())
@unittest.skipUnless((DOUBLES / "libnccl.so.2").exists(), "no doubles")
class ProbeOverNodes(SafelaunchTest):
    """Two scenes mostly wait for deadlines; they go on beside the others, on hosts of their own."""

    @classmethod
    def setUpClass(cls):
        place = tempfile.TemporaryDirectory()
        cls.addClassCleanup(place.cleanup)
        cls.hosts = hosts.Hosts(8, place.name)
        cls.hosts.__enter__()
        cls.addClassCleanup(cls.hosts.__exit__)
        cls.hosts.wait_until_joined()
        for one, other in ((4, 5), (5, 4)):
            cls.hosts.run(one, "ip", "route", "add", "blackhole", f"{cls.hosts.addresses[other]}/32")
        cls.cut_link = cls.beside(place, "cut", (3, 4, 5), "--init-timeout", "2500ms")
        cls.hung_rank = cls.beside(place, "hung", (6, 7), "--collective-timeout", "3s",
                                   ill={"SAFELAUNCH_DOUBLE_FAULT": "no-kernel"})

    @classmethod
    def beside(cls, place, name, numbers, *words, **more):
        folder = pathlib.Path(place.name, name)
        folder.mkdir()
        environment = {**own_environment(), "SAFELAUNCH_TEST_MARK": f"{name}{os.getpid()}"}
        scene = Scene(cls.hosts, numbers, folder, environment, *words, **more)
        cls.addClassCleanup(scene.kill)
        return scene

    def here(self, numbers, *words, **more):
        return Scene(self.hosts, numbers, self.folder, self.environment(), *words, **more)

    def assert_statuses(self, scene, *statuses):
        self.assertEqual(scene.statuses(), list(statuses), scene.all_said())
        self.assertEqual(processes_with(scene.mark), [])

    def test_healthy_nodes_are_told_with_the_bandwidth_of_each_pair_and_as_a_page(self):
        page = self.folder / "probe.html"
        scene = self.here((0, 1, 2), "--json", "--html", page)
        self.assert_statuses(scene, 0, 0, 0)
        told = json.loads(scene.said("out0"))
        self.assertEqual([node["host"] for node in told["nodes"]], self.hosts.names[:3])
        self.assertEqual({node["interface"] for node in told["nodes"]}, {"eth0"})
        self.assertEqual(sorted(pair["nodes"] for pair in told["pairs"]), [[0, 1], [0, 2], [1, 2]])
        self.assertEqual({pair["verdict"] for pair in told["pairs"]}, {"works"}, told)
        self.assertEqual((told["fastest"], told["bad_nodes"], told["status"]), ("basic", [], 0))
        self.assertIn("node2", page.read_text())
        self.assertEqual(scene.said("out1"), "")
        self.assertIn("basic works over all 3 nodes", scene.said("err1"))

    def test_the_node_whose_rank_hangs_is_named(self):
        scene = self.hung_rank
        self.assert_statuses(scene, 1, 1)
        self.assertIn("all_reduce ✗ ranks 0 1: no answer", scene.said("out0"))
        self.assertIn("node7 fails with every partner, and alone too", scene.said("out0"))
        self.assertIn("node7 fails with every partner", scene.said("err1"))

    def test_the_link_that_is_cut_is_named_and_neither_of_its_nodes(self):
        scene = self.cut_link
        self.assert_statuses(scene, 1, 1, 1)
        self.assertIn("node4 and node5 fail with each other, and work with others: the link between them; "
                      "without node5 all_reduce works under basic", scene.said("out0"))
        self.assertIn("use: safelaunch --profile basic -- COMMAND, without node5", scene.said("out0"))

    def test_a_node_without_a_gpu_is_named_and_the_others_are_probed(self):
        scene = self.here((0, 1, 2), ill={"SAFELAUNCH_DOUBLE_CUDA": "none"})
        self.assert_statuses(scene, 1, 1, 1)
        self.assertIn("node2 cannot take part: cuInit: CUDA_ERROR_NO_DEVICE", scene.said("out0"))
        self.assertIn("basic works over the 2 nodes", scene.said("out0"))

    def test_a_signal_at_one_node_ends_the_probe_on_all(self):
        scene = self.here((0, 1), "--collective-timeout", "100s", ill={"SAFELAUNCH_DOUBLE_FAULT": "no-kernel"})
        wait_until(lambda: "bandwidth" in scene.said("out0"), LIMIT, "that the nodes have met")
        scene.agents[1].send_signal(signal.SIGTERM)
        self.assert_statuses(scene, 143, 143)
        self.assertIn("signal SIGTERM at node 1 (node1)", scene.said("err0"))

    def test_a_node_that_does_not_come_is_named(self):
        scene = self.here((0, None, 2), "--nodes-timeout", "1s")
        self.assert_statuses(scene, 69, 69)
        self.assertIn("node 1 did not come within 1s", scene.said("err0"))
        self.assertIn("node 1 did not come within 1s", scene.said("err2"))


if __name__ == "__main__":
    main(needs=())
