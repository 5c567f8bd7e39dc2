"""Several nodes: real ranks on hosts made of network namespaces, one safelaunch on each."""

import os
import signal
import subprocess
import unittest

import harness
import hosts
from harness import SafelaunchTest, wait_until

RANK = """
    import os, sys, time
    import torch, torch.distributed as dist

    def never_comes():
        time.sleep(1000)

    what, rank, world = sys.argv[1], int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    if what == "hang" and rank == world - 1:
        never_comes()
    dist.init_process_group("nccl" if what == "nccl" else "gloo")
    total = torch.ones(1)
    dist.all_reduce(total)
    print("rank", rank, "of", world, "has", int(total), flush=True)
    if what == "long":
        time.sleep(1000)
"""


@unittest.skipIf(hosts.why_not(), hosts.why_not())
class Nodes(SafelaunchTest):
    def on_two_hosts(self, *words, ranks=(2, 1)):
        """Starts one safelaunch on each of two hosts; cleaned up with the test."""
        made = hosts.Hosts(2, self.folder)
        made.__enter__()
        self.addCleanup(made.__exit__)
        made.wait_until_joined()
        script = self.script("\n".join(line[4:] for line in RANK.splitlines()), "train.py")
        agents = []
        for node in (0, 1):
            env = self.environment(HOME=str(self.folder), XDG_STATE_HOME=str(self.folder / f"state{node}"),
                                   GLOO_SOCKET_IFNAME="eth0")
            command = [harness.SAFELAUNCH, "--run-dir", str(self.folder / f"node{node}"), "--nnodes", "2", "--node-rank",
                       str(node), "--master-addr", made.addresses[0], "--nproc-per-node", str(ranks[node]),
                       *words[:-1], harness.sys.executable, script, words[-1]]
            with open(self.folder / f"out{node}", "wb") as out:
                agents.append(subprocess.Popen(made.on(node, *command), env=env, cwd=self.folder, stdout=out,
                                               stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL))
        return made, agents

    def said(self, node):
        return (self.folder / f"out{node}").read_text(errors="replace")

    def both(self):
        return f"--- node 0\n{self.said(0)}\n--- node 1\n{self.said(1)}"

    def statuses(self, agents, within=150):
        try:
            return [agent.wait(within) for agent in agents]
        except subprocess.TimeoutExpired:
            for agent in agents:
                agent.kill()
            self.fail("no end\n" + self.both())

    def test_nodes_with_different_numbers_of_ranks_make_one_world(self):
        _, agents = self.on_two_hosts("quick")
        self.assertEqual(self.statuses(agents), [0, 0], self.both())
        self.assertIn("rank 0 of 3 has 3", self.said(0))
        self.assertIn("rank 2 of 3 has 3", self.said(1))

    def test_a_rank_that_hangs_on_another_node_is_named_with_its_host_and_function(self):
        _, agents = self.on_two_hosts("--init-timeout", "6s", "hang")
        self.assertEqual(self.statuses(agents), [124, 124], self.both())
        self.assertIn("rank 2 was missing", self.said(0))
        self.assertIn("on node1", self.said(0))
        self.assertIn("never_comes", self.said(0))
        self.assertIn("ended with that of the other nodes", self.said(1))

    def test_all_nodes_fall_back_together(self):
        _, agents = self.on_two_hosts("nccl", ranks=(1, 1))
        self.assertEqual(self.statuses(agents), [0, 0], self.both())
        self.assertIn("now attempt 2 with gloo-fallback", self.said(0))
        self.assertIn("rank 1 of 2 has 2", self.said(1))

    def test_a_signal_on_one_node_ends_all(self):
        _, agents = self.on_two_hosts("long", ranks=(1, 1))
        wait_until(lambda: "has 2" in self.said(0) and "has 2" in self.said(1), what="the first all_reduce")
        agents[1].send_signal(signal.SIGTERM)
        self.assertEqual(self.statuses(agents), [143, 143], self.both())

    def test_nodes_whose_agent_is_killed_are_named_and_end_the_job(self):
        _, agents = self.on_two_hosts("long", ranks=(1, 1))
        wait_until(lambda: "has 2" in self.said(0) and "has 2" in self.said(1), what="the first all_reduce")
        os.kill(agents[1].pid, signal.SIGKILL)
        self.assertEqual(self.statuses(agents), [69, -9], self.both())
        self.assertIn("node 1 (node1) is not heard any more", self.said(0))


if __name__ == "__main__":
    harness.main()
