"""Several hosts on one machine: network namespaces with a name, an address and a hosts file each, on one bridge.

They live in the network namespace of the test, and end with it. Needs the right to make namespaces (root, usually) and
iproute2; `why_not()` says what is missing.
"""

import os
import pathlib
import shutil
import subprocess
import time

import harness

# Where everything but the names and addresses is the machine's own.
HOLD = 'hostname "$1"; mount --bind "$2" /etc/hosts; ip link set lo up; echo ready; exec sleep infinity'


def why_not():
    missing = [tool for tool in ("ip", "nsenter", "unshare") if shutil.which(tool) is None]
    if missing:
        return f"{missing[0]} is not installed"
    if os.geteuid() != 0:
        return "only root may make network namespaces"
    return "" if harness.own_network() else "this machine allows no network namespaces"


def ip(*words):
    subprocess.run(["ip", *map(str, words)], check=True, capture_output=True, text=True)


class Hosts:
    """Hosts named node0, node1, … at 10.77.0.1, 10.77.0.2, …; `with Hosts(3, folder) as hosts: hosts.start(0, …)`."""

    def __init__(self, count, folder):
        self.count = count
        self.names = [f"node{i}" for i in range(count)]
        self.addresses = [f"10.77.0.{i + 1}" for i in range(count)]
        self.hosts_file = pathlib.Path(folder, "hosts")
        lines = ["127.0.0.1 localhost"] + [f"{a} {n}" for a, n in zip(self.addresses, self.names)]
        self.hosts_file.write_text("\n".join(lines) + "\n")
        self.holders = []
        self.networks = []

    def __enter__(self):
        ip("link", "add", "bridge0", "type", "bridge")
        ip("link", "set", "bridge0", "up")
        for i in range(self.count):
            self.add(i)
        return self

    def add(self, i):
        holder = subprocess.Popen(["unshare", "-num", "sh", "-c", HOLD, "hold", self.names[i], self.hosts_file],
                                  stdout=subprocess.PIPE, text=True)
        self.holders.append(holder)
        if holder.stdout.readline().strip() != "ready":
            raise RuntimeError(f"{self.names[i]} was not made")
        ip("link", "add", f"out{i}", "type", "veth", "peer", "name", "eth0", "netns", holder.pid)
        ip("link", "set", f"out{i}", "master", "bridge0", "up")
        self.run(i, "ip", "addr", "add", f"{self.addresses[i]}/24", "dev", "eth0")
        self.run(i, "ip", "link", "set", "eth0", "up")

    def add_network(self, interface, prefix):
        """A second network: each host has an interface of this name in it, and the address PREFIX.1, PREFIX.2, …"""
        ip("link", "add", f"{interface}-bridge", "type", "bridge")
        ip("link", "set", f"{interface}-bridge", "up")
        self.networks.append(interface)
        for i, holder in enumerate(self.holders):
            ip("link", "add", f"{interface}-out{i}", "type", "veth", "peer", "name", interface, "netns", holder.pid)
            ip("link", "set", f"{interface}-out{i}", "master", f"{interface}-bridge", "up")
            self.run(i, "ip", "addr", "add", f"{prefix}.{i + 1}/24", "dev", interface)
            self.run(i, "ip", "link", "set", interface, "up")

    def __exit__(self, *_):
        for holder in self.holders:
            holder.kill()
            holder.wait()
            holder.stdout.close()
        for i in range(len(self.holders)):
            subprocess.run(["ip", "link", "del", f"out{i}"], capture_output=True)
        subprocess.run(["ip", "link", "del", "bridge0"], capture_output=True)
        for interface in self.networks:
            subprocess.run(["ip", "link", "del", f"{interface}-bridge"], capture_output=True)
            for i in range(len(self.holders)):
                subprocess.run(["ip", "link", "del", f"{interface}-out{i}"], capture_output=True)

    def on(self, i, *words):
        """The words that run a command on a host."""
        return ["nsenter", "-t", str(self.holders[i].pid), "-n", "-u", "-m", "-r", "--wd=.", *map(str, words)]

    def run(self, i, *words):
        subprocess.run(self.on(i, *words), check=True, capture_output=True, text=True)

    def cut_off(self, i):
        """From now on no packet comes to the host or leaves it, and nobody is told."""
        ip("link", "set", f"out{i}", "down")

    def cut_network(self, i, interface):
        """The same for its interface in a second network."""
        ip("link", "set", f"{interface}-out{i}", "down")

    def reaches(self, i, j):
        """Whether a packet gets through: a bridge needs a moment to learn."""
        probe = f"import socket; socket.create_connection(('{self.addresses[j]}', 9), 0.2)"
        told = subprocess.run(self.on(i, "python3", "-c", probe), capture_output=True, text=True).stderr
        return "refused" in told

    def wait_until_joined(self):
        end = time.monotonic() + 20
        while not all(self.reaches(i, 0) for i in range(1, self.count)):
            if time.monotonic() > end:
                raise RuntimeError("the hosts do not reach each other")
