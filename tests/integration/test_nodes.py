"""Several nodes: real ranks on hosts made of network namespaces, one safelaunch on each."""

import json
import os
import pathlib
import signal
import subprocess
import textwrap
import unittest

import harness
import hosts
from harness import SafelaunchTest, is_alive, wait_until

RANK = """
    import os, sys, time
    if sys.argv[1] != "nothing":
        import torch, torch.distributed as dist

    def never_comes():
        time.sleep(1000)

    what, rank, world = sys.argv[1], int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    if what == "nothing":
        sys.exit()
    if what == "hang" and rank == world - 1:
        never_comes()
    dist.init_process_group("nccl" if what == "nccl" else "gloo")
    total = torch.ones(1)
    dist.all_reduce(total)
    print("rank", rank, "of", world, "has", int(total), flush=True)
    if what == "goes on":
        going = [int(name[5:]) for name in os.listdir("ckpt")] if "--resume" in sys.argv else []
        if going:
            print("rank", rank, "goes on from", max(going), flush=True)
            sys.exit()
        if rank == 0:
            open("new", "w").write("weights")
            os.utime("new", (time.time() - 70,) * 2)  # old enough for a client of NFS to see it
            os.rename("new", "ckpt/step-8")
        dist.all_reduce(total)
        while not os.path.exists("trains"):
            time.sleep(0.05)
        if rank == world - 1:
            os.kill(os.getpid(), 9)
        dist.all_reduce(total)
    if what == "dies once":
        if rank == world - 1 and not os.path.exists("died"):
            open("died", "w").close()
            while not os.path.exists("trains"):
                time.sleep(0.05)
            os.kill(os.getpid(), 9)
        dist.all_reduce(total)
        print("rank", rank, "came through", flush=True)
    if what == "long":
        time.sleep(1000)

    def looks_elsewhere():
        print("rank", rank, "looks elsewhere", flush=True)
        time.sleep(1000)

    if what == "stalls":
        for step in range(5):
            dist.all_reduce(total)
        if rank == world - 1:
            looks_elsewhere()
        dist.all_reduce(total)
"""


@unittest.skipIf(hosts.why_not(), hosts.why_not())
class Nodes(SafelaunchTest):
    def make_hosts(self, count):
        self.hosts = hosts.Hosts(count, self.folder)
        self.hosts.__enter__()
        self.addCleanup(self.hosts.__exit__)
        self.hosts.wait_until_joined()
        self.train = self.script("\n".join(line[4:] for line in RANK.splitlines()), "train.py")

    def start(self, node, *words, name=None, interface="eth0", apart=()):
        """Starts a safelaunch on a host, below the command `apart`; what it says goes to the file of that name."""
        name = f"{node}" if name is None else name
        env = self.environment(HOME=str(self.folder), XDG_STATE_HOME=str(self.folder / f"state{name}"),
                               GLOO_SOCKET_IFNAME=interface)
        command = [*map(str, apart), harness.SAFELAUNCH, "--run-dir", str(self.folder / f"node{name}"), *map(str, words)]
        with open(self.folder / f"out{name}", "wb") as out:
            return subprocess.Popen(self.hosts.on(node, *command), env=env, cwd=self.folder, stdout=out,
                                    stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)

    def own_workers(self, node, ranks=1, nodes=2):
        return ["--nnodes", nodes, "--node-rank", node, "--master-addr", self.hosts.addresses[0],
                "--nproc-per-node", ranks]

    def on_two_hosts(self, *words, ranks=(2, 1)):
        """Starts one safelaunch on each of two hosts; cleaned up with the test."""
        self.make_hosts(2)
        return [self.start(node, *self.own_workers(node, ranks[node]), *words[:-1], harness.sys.executable,
                           self.train, words[-1]) for node in (0, 1)]

    def said(self, node):
        return (self.folder / f"out{node}").read_text(errors="replace")

    def both(self):
        said = sorted(self.folder.glob("out*"))
        return "\n".join(f"--- {one.name}\n{one.read_text(errors='replace')}" for one in said)

    def statuses(self, agents, within=150):
        try:
            return [agent.wait(within) for agent in agents]
        except subprocess.TimeoutExpired:
            for agent in agents:
                agent.kill()
            self.fail("no end\n" + self.both())

    def test_nodes_with_different_numbers_of_ranks_make_one_world(self):
        agents = self.on_two_hosts("quick")
        self.assertEqual(self.statuses(agents), [0, 0], self.both())
        self.assertIn("rank 0 of 3 has 3", self.said(0))
        self.assertIn("rank 2 of 3 has 3", self.said(1))

    def test_a_rank_that_hangs_on_another_node_is_named_with_its_host_and_function(self):
        agents = self.on_two_hosts("--init-timeout", "6s", "hang")
        self.assertEqual(self.statuses(agents), [124, 124], self.both())
        self.assertIn("hung: rank 2 never joined the process group", self.said(0))
        self.assertIn("on node1", self.said(0))
        self.assertIn("never_comes", self.said(0))
        self.assertIn("together with the attempts of the other nodes", self.said(1))

    def test_all_nodes_fall_back_together(self):
        agents = self.on_two_hosts("nccl", ranks=(1, 1))
        self.assertEqual(self.statuses(agents), [0, 0], self.both())
        self.assertIn("retrying with gloo-fallback", self.said(0))
        self.assertIn("rank 1 of 2 has 2", self.said(1))

    def test_all_nodes_start_again_together_as_the_profile_of_the_leader_says(self):
        (self.folder / "again.yaml").write_text("extends: basic\nretry: {backoff: 1s}\n")
        agents = self.on_two_hosts("--profile", "./again.yaml", "dies once")
        events = self.folder / "node0" / "events.jsonl"
        wait_until(lambda: events.exists() and '"e":"training"' in events.read_text(), what="the training")
        (self.folder / "trains").touch()
        self.assertEqual(self.statuses(agents), [0, 0], self.both())
        self.assertIn("the training starts again with the same settings in 1s (1 of 5)", self.said(0))
        self.assertIn("rank 0 came through", self.said(0))
        self.assertIn("rank 2 came through", self.said(1))

    def goes_on_with(self, folder_of_1):
        """Two hosts whose job is started again from its checkpoint; the second may have a working directory of its own."""
        (self.folder / "goes-on.yaml").write_text("extends: basic\nresume: {marker: 'ckpt/*', append: [--resume]}\n")
        (self.folder / "ckpt").mkdir()
        self.make_hosts(2)
        agents = []
        for node, folder in enumerate((self.folder, folder_of_1)):
            apart = ["env", "-C", folder]
            agents.append(self.start(node, *self.own_workers(node), "--profile", self.folder / "goes-on.yaml",
                                     harness.sys.executable, self.train, "goes on", apart=apart))
        events = self.folder / "node0" / "events.jsonl"
        wait_until(lambda: events.exists() and '"e":"training"' in events.read_text(), what="the training")
        for folder in (self.folder, folder_of_1):
            (folder / "trains").touch()
        return agents

    def test_all_nodes_go_on_from_the_checkpoint_that_the_leader_names(self):
        agents = self.goes_on_with(self.folder)
        self.assertEqual(self.statuses(agents), [0, 0], self.both())
        self.assertIn("the training starts again from ckpt/step-8, written", self.said(0))
        for node in (0, 1):
            self.assertIn(f"rank {node} goes on from 8", self.said(node))

    def test_nothing_goes_on_from_a_checkpoint_that_one_node_does_not_see(self):
        apart = self.folder / "another-disk"
        (apart / "ckpt").mkdir(parents=True)
        agents = self.goes_on_with(apart)
        self.assertEqual(self.statuses(agents), [78, 78], self.both())
        self.assertIn("the nodes agreed to go on from ckpt/step-8, but it is not here: the checkpoints must lie on a disk "
                      "that all nodes see", self.said(1))
        self.assertIn("it is not here", self.said(0))
        self.assertNotIn("goes on from 8", self.both())

    def test_a_standstill_of_the_training_names_the_rank_of_another_node_and_ends_all(self):
        (self.folder / "ends.yaml").write_text("extends: basic\ntimeouts: {stall: 6s}\non_stall: kill\n")
        agents = self.on_two_hosts("--profile", "./ends.yaml", "stalls")
        self.assertEqual(self.statuses(agents), [124, 124], self.both())
        self.assertIn("rank 2 is behind (6 of 7 collectives begun); rank 2 never called all_reduce", self.said(0))
        self.assertRegex(self.said(0), r"rank 2 is in train.py:\d+ looks_elsewhere, on node1\n")
        self.assertRegex(self.said(0), r"--> train.py:\d+ in looks_elsewhere")
        self.assertIn("It was idling, on node1.", self.said(0))
        self.assertRegex(self.said(1), r"node0: no collective finished for [\d.]+s; rank 2 is behind")

    def test_an_interface_that_is_cut_between_the_nodes_is_named_and_the_one_that_works(self):
        self.make_hosts(2)
        self.hosts.add_network("fast0", "10.78.0")
        self.hosts.cut_network(1, "fast0")
        agents = [self.start(node, *self.own_workers(node), harness.sys.executable, self.train, "nothing",
                             interface="fast0") for node in (0, 1)]
        self.assertEqual(self.statuses(agents), [0, 0], self.both())
        self.assertIn("risk: wrong-interface: node1 cannot reach node0 on fast0 (10.78.0.1), "
                      "which GLOO_SOCKET_IFNAME names: no answer; help: eth0 works between all nodes", self.said(0))
        self.assertIn("node0 cannot reach node1 on fast0 (10.78.0.2)", self.said(0))
        self.assertNotIn("wrong-interface", self.said(1))
        events = (self.folder / "node0" / "events.jsonl").read_text().splitlines()
        found = [json.loads(line) for line in events if '"wrong-interface"' in line]
        self.assertEqual(len(found), 2, events)  # one for each direction
        ways = [json.loads(line) for line in events if '"e":"ways"' in line]
        self.assertEqual([(way["hosts"], sorted(set(way["end"]))) for way in ways],
                         [(["node0", "node1"], ["no answer", "reached"])])
        self.assertIn(("master port", "reached"), set(zip(ways[0]["interface"], ways[0]["end"])))

    def test_of_ways_that_work_nothing_is_said_and_no_door_stays_open(self):
        self.make_hosts(2)
        self.hosts.add_network("fast0", "10.78.0")
        agents = [self.start(node, *self.own_workers(node), harness.sys.executable, self.train, "long")
                  for node in (0, 1)]
        wait_until(lambda: "has 2" in self.said(0) and "has 2" in self.said(1), what="the first all_reduce")
        for node in (0, 1):
            listening = subprocess.run(self.hosts.on(node, "ss", "-Hltnp"), check=True, capture_output=True,
                                       text=True).stdout
            own = [line for line in listening.splitlines() if '"safelaunch"' in line]
            self.assertLessEqual(len(own), 1, listening)  # node 0's board
            self.assertNotIn("risk:", self.said(node))
        agents[0].send_signal(signal.SIGTERM)
        self.assertEqual(self.statuses(agents), [143, 143], self.both())

    def test_a_signal_on_one_node_ends_all(self):
        agents = self.on_two_hosts("long", ranks=(1, 1))
        wait_until(lambda: "has 2" in self.said(0) and "has 2" in self.said(1), what="the first all_reduce")
        agents[1].send_signal(signal.SIGTERM)
        self.assertEqual(self.statuses(agents), [143, 143], self.both())
        self.assertIn("signal SIGTERM at node 1 (node1)", self.said(0))
        self.assertNotIn("signal 15", self.said(1))  # it was sent there
        for node in (0, 1):
            outcome = json.loads((self.folder / f"node{node}" / "outcome.json").read_text())
            self.assertEqual([attempt["end"] for attempt in outcome["attempts"]], ["interrupted"])

    def test_a_signal_on_node_0_whose_ranks_are_through_ends_the_others(self):
        self.make_hosts(2)
        rank = ["sh", "-c", 'echo runs; test "$RANK" = 0 || exec sleep 1000']
        agents = [self.start(node, *self.own_workers(node), "--", *rank) for node in (0, 1)]
        events = self.folder / "node0" / "events.jsonl"
        wait_until(lambda: "runs" in self.said(1) and '"e":"exit"' in events.read_text(), what="the end of rank 0")
        agents[0].send_signal(signal.SIGTERM)
        self.assertEqual(self.statuses(agents), [143, 143], self.both())
        self.assertIn("signal SIGTERM at node 0 (node0)", self.said(1))

    def test_a_node_that_cannot_start_its_ranks_is_named_and_no_rank_is_blamed(self):
        self.make_hosts(2)
        agents = [self.start(node, *self.own_workers(node), "--", program, "1000")
                  for node, program in enumerate(("sleep", "/nowhere/sleep"))]
        self.assertEqual(self.statuses(agents), [127, 127], self.both())
        self.assertIn("node 1 (node1) has not started its ranks: no such file: /nowhere/sleep", self.said(0))
        self.assertNotIn("cause:", self.said(0))

    def test_ctrl_c_twice_on_one_node_ends_all_at_once(self):
        self.make_hosts(2)
        rank = ["sh", "-c", "trap '' INT TERM; echo runs; while :; do sleep 1; done"]
        agents = [self.start(node, "--grace", "1h", *self.own_workers(node), "--", *rank) for node in (0, 1)]
        wait_until(lambda: all("runs" in self.said(node) for node in (0, 1)), what="the ranks")
        agents[1].send_signal(signal.SIGINT)
        wait_until(lambda: all("A second one kills them now" in self.said(node) for node in (0, 1)), what="the first")
        agents[1].send_signal(signal.SIGINT)
        self.assertEqual(self.statuses(agents, 60), [130, 130], self.both())

    def test_nodes_whose_agent_is_killed_are_named_and_end_the_job(self):
        agents = self.on_two_hosts("long", ranks=(1, 1))
        wait_until(lambda: "has 2" in self.said(0) and "has 2" in self.said(1), what="the first all_reduce")
        os.kill(agents[1].pid, signal.SIGKILL)
        self.assertEqual(self.statuses(agents), [69, -9], self.both())
        self.assertIn("no word from node 1 (node1) for too long", self.said(0))

    def test_an_agent_that_is_stopped_as_its_ranks_begin_does_not_keep_them_beyond_its_lease(self):
        self.make_hosts(2)
        begun = [self.folder / f"rank-{node}" for node in (0, 1)]
        rank = ["sh", "-c", f'echo $$ > {self.folder}/$RANK.tmp && mv {self.folder}/$RANK.tmp {self.folder}/rank-$RANK; exec sleep 1000']
        agents = [self.start(node, *self.own_workers(node), "--", *rank) for node in (0, 1)]
        wait_until(begun[1].exists, what="the rank of node 1")
        guardian = agents[1].pid
        supervisor = int(pathlib.Path(f"/proc/{guardian}/task/{guardian}/children").read_text().split()[0])
        os.kill(supervisor, signal.SIGSTOP)
        wait_until(begun[0].exists, what="the rank of node 0")
        wait_until(lambda: not is_alive(int(begun[1].read_text())), what="the end of node 1's rank, by its guardian")
        self.assertEqual(self.statuses(agents)[0], 69, self.both())
        self.assertIn("no word from node 1 (node1) for too long", self.said(0))

    def test_a_rank_that_fails_after_those_of_node_0_are_through_is_named_with_its_host(self):
        self.make_hosts(2)
        ended = self.folder / "ended"
        rank = ["sh", "-c", 'echo "rank $RANK: all is well"; [ $RANK = 0 ] && exit 0; '
                            f'until [ -e {ended} ]; do sleep 0.1; done; echo "rank 1: cannot read" >&2; exit 9']
        agents = [self.start(node, *self.own_workers(node), "--", *rank) for node in (0, 1)]
        wait_until(lambda: "all is well" in self.said(0) and "all is well" in self.said(1), what="both ranks")
        ended.touch()
        self.assertEqual(self.statuses(agents), [9, 9], self.both())
        self.assertIn("Rank 1 on node1 failed first (exit status 9)", self.said(0))
        self.assertNotIn("The output of what failed first", self.said(0))

    def test_torchrun_meets_over_three_nodes(self):
        self.make_hosts(3)
        words = ["torchrun", "--nnodes", "3", "--nproc-per-node", "1", "--rdzv-backend", "c10d", "--rdzv-endpoint",
                 f"{self.hosts.addresses[0]}:29500", self.train, "quick"]
        agents = [self.start(node, *words) for node in range(3)]
        self.assertEqual(self.statuses(agents), [0, 0, 0], self.both())
        self.assertIn("of 3 has 3", self.said(2))

    def test_a_late_node_is_waited_for_and_a_second_one_of_its_number_is_a_spare(self):
        self.make_hosts(2)
        until = self.folder / "over"
        rank = ["sh", "-c", f'echo runs; while ! [ -e {until} ]; do sleep 0.1; done; echo "$RANK is over"']
        first = self.start(0, *self.own_workers(0), "--", *rank)
        wait_until(lambda: "1/2 nodes, waiting for node 1" in self.said(0), what="the wait for node 1")
        self.assertNotIn("runs", self.said(0))
        late = self.start(1, *self.own_workers(1), "--", *rank)
        wait_until(lambda: "runs" in self.said(1), what="the late node's rank")
        spare = self.start(1, *self.own_workers(1), "--", *rank, name="spare")
        wait_until(lambda: "is a spare" in self.said("spare"), what="the spare")
        until.touch()
        self.assertEqual(self.statuses([first, late, spare]), [0, 0, 0], self.both())
        self.assertIn("node 1 is held by the safelaunch on node1", self.said("spare"))
        self.assertNotIn("runs", self.said("spare"))
        self.assertIn("nothing has run here", self.said("spare"))
        self.assertIn("1 is over", self.said(1))

    def test_nodes_find_each_other_by_a_shared_folder_and_go_on_without_it(self):
        self.make_hosts(2)
        shared, over = self.folder / "shared", self.folder / "over"
        shared.mkdir()
        rank = ["sh", "-c", f'echo runs; while ! [ -e {over} ]; do sleep 0.1; done; echo "$RANK is over"']
        agents = [self.start(node, "--rendezvous", f"file://{shared}/run", *self.own_workers(node), "--", *rank)
                  for node in (1, 0)]
        wait_until(lambda: "runs" in self.said(0) and "runs" in self.said(1), what="both ranks")
        [notice] = (shared / "run").iterdir()
        self.assertEqual(notice.stat().st_mode & 0o7777, 0o600)
        shared.rename(self.folder / "elsewhere")
        over.touch()
        self.assertEqual(self.statuses(agents), [0, 0], self.both())
        self.assertIn("1 is over", self.said(1))

    def test_the_notice_in_a_shared_folder_goes_with_the_job(self):
        self.make_hosts(2)
        agents = [self.start(node, "--rendezvous", f"file://{self.folder}/run", *self.own_workers(node), "--", "true")
                  for node in (0, 1)]
        self.assertEqual(self.statuses(agents), [0, 0], self.both())
        self.assertEqual(list((self.folder / "run").iterdir()), [])


class OneHost(SafelaunchTest):
    def meet(self, *words):
        # As whoever tries several nodes does: all on one host, over the loopback.
        script = self.script(textwrap.dedent(RANK), "train.py")
        port = str(harness.free_port())
        agents = [self.start(*words, *harness.torchrun("--nnodes=2", f"--node-rank={node}", "--nproc-per-node=1", "--master-addr=127.0.0.1",
                                                       f"--master-port={port}", script, "train")) for node in (0, 1)]
        for node, run in enumerate([self.finish(agent) for agent in agents]):
            self.assert_status(run, 0)
            self.assertIn(f"rank {node} of 2 has 2", run.out)

    def test_two_nodes_on_one_host_meet_over_the_loopback(self):
        self.meet()

    def test_two_nodes_on_one_host_that_do_not_agree_meet_over_the_loopback(self):
        self.meet("--rendezvous", "none")


class OneNode(SafelaunchTest):
    def test_a_node_without_a_token_ends_in_order_also_without_checks(self):
        run = self.run_safelaunch("--no-preflight", "--nnodes", "2", "--node-rank", "0", "--master-addr", "127.0.0.1",
                                  "--token-file", str(self.folder / "none"), "--nproc-per-node", "1",
                                  harness.sys.executable, self.script("", "train.py"))
        self.assertIn("the token in", run.err)
        self.assert_status(run, 78)

    def test_a_node_that_does_not_come_within_the_nodes_timeout_is_named_on_all(self):
        port = str(harness.free_port())
        agents = [self.start("--nnodes", "3", "--node-rank", node, "--master-addr", "127.0.0.1", "--master-port", port,
                             "--nodes-timeout", "2s", "--nproc-per-node", "1", "--", "echo", "runs") for node in ("0", "2")]
        for run in [self.finish(agent) for agent in agents]:
            self.assertIn("node 1 did not come within 2s", run.err)
            self.assertNotIn("runs", run.out)
            self.assert_status(run, 69)


if __name__ == "__main__":
    harness.main()
