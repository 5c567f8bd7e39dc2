"""P10, P11, P19, P20: several nodes, among them some too many, cut off, without the token, and a flood. Each is a network namespace."""

import pathlib
import re
import signal
import subprocess
import sys
import time

import hosts
from promises.tries import Untried, expect, tries

LIVES = 'echo runs $RANK; until [ -e "$0" ]; do sleep 0.05; done; echo "$RANK is over"'
MOST_MB, LEASE, SLACK = 64, 10, 5
BOARD = 19500  # 10,000 below the port of the ranks


class Cluster:
    """Hosts in a network of their own, and an agent of safelaunch on each; `with Cluster(scene, 2) as nodes`."""

    def __init__(self, scene, count):
        why_not = hosts.why_not()
        if why_not:
            raise Untried(why_not)
        self.scene, self.hosts, self.over = scene, hosts.Hosts(count, scene.folder), scene.work / "over"

    def __enter__(self):
        self.hosts.__enter__()
        self.hosts.wait_until_joined()
        return self

    def __exit__(self, *_):
        for process in self.scene.started:
            if process.poll() is None:
                process.kill()
        self.hosts.__exit__()

    def agent(self, node, name=None, **more):
        """Starts the agent of a node; what it says goes to the file of its name. All share one token, unless told otherwise."""
        name = name or f"node{node}"
        words = ["--nnodes", "2", "--node-rank", str(node), "--master-addr", self.hosts.addresses[0]]
        env = self.scene.environment(**{"XDG_STATE_HOME": str(self.scene.folder / "state" / name), **more})
        with open(self.scene.work / name, "wb") as out:
            return self.scene.start(["sh", "-c", LIVES, self.over], ranks=1, options=words, env=env, stdout=out, stderr=subprocess.STDOUT,
                                    within=self.hosts.on(node))

    def said(self, name):
        return (self.scene.work / name).read_text(errors="replace")

    def wait_for(self, name, words, seconds=40):
        return self.scene.until(lambda: words in self.said(name), f"{name} says {words!r}; it said {self.said(name)[-300:]!r}", seconds)

    def expect_all_well(self, *agents):
        self.over.touch()
        statuses = [agent.wait(40) for agent in agents]
        expect(not any(statuses), f"the statuses are {statuses}: {self.said('node0')[-300:]!r}")

    def board(self):
        """The address at which the agents meet."""
        listening = subprocess.run(self.hosts.on(0, "ss", "-Hltn"), check=True, capture_output=True, text=True).stdout
        for line in listening.splitlines():
            address, _, port = line.split()[3].rpartition(":")
            if int(port) == BOARD:
                return address
        raise AssertionError(f"no board listens: {listening}")


@tries("P10", "three agents too many for two nodes: they are spares, the job lives, all end with its status", 3, 1000)
def spares(scene, _, __):
    with Cluster(scene, 2) as nodes:
        agents = [nodes.agent(0), nodes.agent(1)]
        nodes.wait_for("node1", "runs 1")
        agents += [nodes.agent(1, f"spare{number}") for number in range(3)]
        for number in range(3):
            nodes.wait_for(f"spare{number}", "is a spare")
        nodes.expect_all_well(*agents)
        expect(not any("runs" in nodes.said(f"spare{number}") for number in range(3)), "a spare has run the job")


@tries("P11", "node 1 is cut off for good: no rank of either node lives longer than the lease of 10 s and 5 s more", 2, 500, unit="s")
def cut_off(scene, _, __):
    with Cluster(scene, 2) as nodes:
        nodes.agent(0)
        nodes.agent(1)
        nodes.wait_for("node0", "runs 0")
        nodes.wait_for("node1", "runs 1")
        expect(_ranks(scene), "there is no rank to be ended")
        nodes.hosts.cut_off(1)
        seconds = scene.until(lambda: not _ranks(scene), "the end of all ranks", 40)
        expect(seconds <= LEASE + SLACK, f"after {seconds:.1f} s")
        nodes.wait_for("node0", "no word from node 1")
        return seconds


def _name_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text()
    except OSError:
        return "safelaunch\n"


def _ranks(scene):
    return [pid for pid in scene.left() if _name_of(pid) != "safelaunch\n"]


@tries("P11", "node 1 is cut off for 3 s, less than its lease: the job goes on", 2, 500)
def cut_off_for_a_moment(scene, _, __):
    with Cluster(scene, 2) as nodes:
        agents = [nodes.agent(0), nodes.agent(1)]
        nodes.wait_for("node1", "runs 1")
        nodes.hosts.cut_off(1)
        time.sleep(3)
        hosts.ip("link", "set", "out1", "up")
        time.sleep(12)  # the lease, and the silence that it would take to lose the node
        expect(all(agent.poll() is None for agent in agents), f"it has ended: {nodes.said('node0')[-300:]!r}")
        nodes.expect_all_well(*agents)


@tries("P19", "an agent with another token is refused, says why, and the job meets without it", 3, 1000)
def wrong_token(scene, number, _):
    with Cluster(scene, 2) as nodes:
        first = nodes.agent(0)
        nodes.wait_for("node0", "waiting for node 1")
        impostor = nodes.agent(1, "impostor", XDG_CONFIG_HOME=str(scene.folder / "other"))
        expect(impostor.wait(40) != 0, f"status {impostor.returncode}")
        expect("does not have the token" in nodes.said("impostor"), f"it said {nodes.said('impostor')[-300:]!r}")
        expect("runs" not in nodes.said("node0") + nodes.said("impostor"), "the job began with the impostor")
        nodes.expect_all_well(first, nodes.agent(1))


# Strangers: some say nothing, some send a length of 4 GB or noise, some trickle; they hold their connections until they are ended.
STRANGERS = """
import os, random, socket, sys, time
address, port, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
dice, held, came = random.Random(count), [], 0
print("flooding", flush=True)
while True:
    try:
        one = socket.create_connection((address, port), 1)
        came += 1
        one.sendall(dice.choice([b"", b"\\xff\\xff\\xff\\xff", dice.randbytes(300), b"\\0\\0\\0", b"GET / HTTP/1.0\\r\\n\\r\\n"]))
        held.append(one)
    except OSError:
        pass
    for old in held[count:]: old.close()
    del held[count:]
    if came % 50 == 0: time.sleep(0.01)
"""
HELD = 500


def _memory_of(pid):
    return int(re.search(r"RssAnon:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1]) / 1024


@tries("P20", f"a flood of strangers, {HELD} held at a time, who send nothing, noise or a length of 4 GB: the nodes meet, memory of node 0",
       2, 100, unit="MB")
def flood(scene, _, __):
    with Cluster(scene, 2) as nodes:
        first = nodes.agent(0)
        nodes.wait_for("node0", "waiting for node 1")
        address = nodes.board()
        expect(address == nodes.hosts.addresses[0], f"the board listens on {address}")
        flooding = subprocess.Popen(nodes.hosts.on(1, sys.executable, "-S", "-c", STRANGERS, address, BOARD, HELD), stdout=subprocess.PIPE,
                                    env=scene.environment())
        scene.started.append(flooding)
        expect(flooding.stdout.readline() == b"flooding\n", "the flood has not begun")
        late = nodes.agent(1)
        nodes.wait_for("node1", "runs 1")
        memory = max(_memory_of(pid) for pid in scene.left() if pathlib.Path(f"/proc/{pid}/comm").read_text() == "safelaunch\n")
        flooding.send_signal(signal.SIGKILL)
        nodes.expect_all_well(first, late)
        expect(memory <= MOST_MB, f"{memory:.0f} MB")
        return memory
