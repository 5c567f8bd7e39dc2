"""What fails or waits before any rank exists: the launcher itself, on a host of the test's own."""

import os
import subprocess
import unittest

from harness import SafelaunchTest, free_port, main, torchrun

# A host with the name freshbox, the address 10.77.0.5 and this /etc/hosts.
BOX = ["unshare", "--net", "--mount", "--uts", "sh", "-c",
       'hostname freshbox && mount --bind "$0" /etc/hosts && ip link set lo up && ip addr add 10.77.0.5/24 dev lo && exec "$@"']

REDUCES = """
import os

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
dist.all_reduce(torch.ones(1))
os.write(1, f"met at {os.environ['MASTER_ADDR']}\\n".encode())  # two ranks share the pipe
dist.destroy_process_group()
"""


class BeforeRanks(SafelaunchTest):
    def setUp(self):
        super().setUp()
        if os.geteuid() != 0 or subprocess.run([*BOX, self.hosts("127.0.0.1 localhost"), "true"]).returncode != 0:
            raise unittest.SkipTest("a host of one's own needs root, and a kernel that allows it")

    def hosts(self, text):
        path = self.folder / "hosts"
        path.write_text(text + "\n")
        return str(path)

    def run_in_box(self, hosts, *words):
        return self.run_safelaunch(*words, self.script(REDUCES), apart=[*BOX, self.hosts(hosts)])

    def test_ranks_of_a_host_whose_name_leads_nowhere_meet_by_the_loopback(self):
        run = self.run_in_box("127.0.0.1 localhost", *torchrun("--nproc-per-node", "2"))
        self.assert_status(run, 0)
        self.assertEqual(run.out.count("met at 127.0.0.1"), 2, str(run))
        self.assertIn("freshbox cannot be resolved on this host: torchrun's ranks are told 127.0.0.1", run.err)

    def test_an_endpoint_that_torchrun_does_not_serve_is_named_and_not_tried_again(self):
        run = self.run_in_box("127.0.0.1 localhost freshbox\n10.77.0.5 head-node", "torchrun", "--nproc-per-node", "2",
                              "--rdzv-backend", "c10d", "--rdzv-endpoint", f"head-node:{free_port()}",
                              "--rdzv-conf", "read_timeout=2")
        self.assert_status(run, 1)
        self.assertEqual([one["cause"]["id"] for one in run.attempts], ["endpoint-not-own"], str(run))
        self.assertIn("is an address of this host, nobody listens there", run.attempts[0]["cause"]["explanation"])

    def test_a_launcher_that_waits_for_a_node_that_never_comes_is_ended(self):
        run = self.run_in_box("127.0.0.1 localhost freshbox", "--init-timeout", "5s", "torchrun", "--nnodes", "2",
                              "--node-rank", "0", "--nproc-per-node", "1", "--master-addr", "127.0.0.1",
                              "--master-port", str(free_port()))
        self.assert_status(run, 124)
        self.assertEqual([one["cause"]["id"] for one in run.attempts], ["nodes-missing"], str(run))
        self.assertIn("waits until 2 nodes have come", run.attempts[0]["cause"]["explanation"])


if __name__ == "__main__":
    main()
