"""Scene g: what a killed safelaunch left behind is cleaned with proof; what others started is listed and untouched."""

import os
import pathlib
import signal
import subprocess
import sys
import unittest

from harness import (DDP, SAFELAUNCH, SafelaunchTest, children_of, is_alive, main, own_network, processes_with, torchrun,
                     wait_until)

PORT = 29500
HUNG = [f"--master_port={PORT}", "--nproc_per_node=2", DDP, "--hang", "never-init"]
LISTENING = "0A"


def setUpModule():
    if not own_network():
        raise unittest.SkipTest("port 29500 can only be had for sure in a network of our own")


def somebody_listens():
    tables = (pathlib.Path("/proc/self/net", table).read_text().splitlines()[1:] for table in ("tcp", "tcp6"))
    sockets = (line.split() for table in tables for line in table)
    return any(socket[1].endswith(f":{PORT:04X}") and socket[3] == LISTENING for socket in sockets)


class Stale(SafelaunchTest):
    """Scene g. A shell stands between safelaunch and torchrun, whose tree outlives both."""

    def launch_script(self):
        words = " ".join([sys.executable, "-m", "torch.distributed.run", *HUNG])
        return self.script(f"#!/bin/sh\n{words}\ntrue\n", "launch.sh")

    def kill_both_halves(self, job):
        """Guardian and supervisor, stopped first so that neither can react to the other's end.

        The supervisor goes first, since the guardian's end wakes it up.
        """
        (supervisor,) = children_of(job.pid)
        (script,) = children_of(supervisor)
        halves = [supervisor, job.pid]
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in halves:
                os.kill(pid, number)
        job.communicate()
        wait_until(lambda: not is_alive(script), what="the end of the script, which dies with safelaunch")

    def wait_for_the_tree(self):
        """A tree that still grows when it is looked at would be another one a moment later."""
        wait_until(somebody_listens, what="the store of the first job")
        workers = lambda: set(processes_with(self.mark)) & set(processes_with("\0LOCAL_RANK="))
        wait_until(lambda: len(workers()) == 2, what="the workers of the first job")

    def run_healthy_job(self):
        return self.run_safelaunch(*torchrun(f"--master_port={PORT}", "--nproc_per_node=2", DDP, "--steps", "5"))

    def dry_run(self):
        return subprocess.run([SAFELAUNCH, "clean", "--dry-run"], env=self.environment(), text=True, capture_output=True,
                              timeout=60).stdout

    def test_a_tree_of_a_killed_safelaunch_is_cleaned_with_proof_and_the_job_gets_its_port(self):
        job = self.start("--init-timeout", "0", "--quiet-timeout", "0", self.launch_script(), stdout=subprocess.DEVNULL,
                         stderr=subprocess.DEVNULL)
        self.wait_for_the_tree()
        self.kill_both_halves(job)
        left = processes_with(self.mark)
        self.assertTrue(left, "nothing outlived safelaunch, and nothing is to be cleaned")

        would = self.dry_run()
        for pid in left:
            self.assertRegex(would, rf"would be ended: pid {pid} .*: left by safelaunch run \S+: its safelaunch \(pid \d+\) is gone")
        self.assertEqual(left, processes_with(self.mark))

        run = self.run_healthy_job()
        self.assert_status(run, 0)
        self.assertRegex(run.err, rf"stale, (ended|killed): pid \d+ .* holds port {PORT}: left by safelaunch run", str(run))
        self.assertNotIn("the job uses port", run.err, "the port is free again")
        self.assertFalse([pid for pid in left if is_alive(pid)])

    def test_new_work_that_a_batch_daemon_starts_with_the_environment_of_an_ended_job_is_left_alone(self):
        submitted = self.folder / "environment"
        self.assert_status(self.run_safelaunch("sh", "-c", f"env -0 > {submitted}"), 0)
        variables = dict(line.split("=", 1) for line in submitted.read_text().split("\0") if line)
        self.assertIn("SAFELAUNCH_OWNER", variables)
        work = subprocess.Popen(["sleep", "600"], env=variables)  # we are the daemon
        try:
            self.assertNotIn(f"would be ended: pid {work.pid} ", self.dry_run())
        finally:
            work.kill()
            work.wait()

    def test_the_same_tree_started_by_hand_is_listed_and_untouched(self):
        tree = subprocess.Popen([self.launch_script()], env=self.environment(), stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)
        try:
            self.assert_listed_and_untouched(tree)
        finally:
            for pid in processes_with(self.mark):  # its workers have sessions of their own
                os.kill(pid, signal.SIGKILL)
            tree.wait()
            wait_until(lambda: not processes_with(self.mark), what="the end of the other job")

    def test_the_port_that_a_rank_joins_is_held_by_its_store_and_is_no_leftover(self):
        serves = f"import socket, sys; held = socket.create_server(('127.0.0.1', {PORT})); print('serves', flush=True); sys.stdin.read()"
        world = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(PORT), "WORLD_SIZE": "2"}
        first = self.start(sys.executable, "-c", serves, env=self.environment(RANK="0", **world), stdin=subprocess.PIPE)
        self.assertEqual(first.stdout.readline(), b"serves\n")
        said = {rank: self.run_safelaunch(sys.executable, "-c", "pass", env=self.environment(RANK=rank, **world)).err for rank in "01"}
        self.assert_status(self.finish(first), 0)
        self.assertIn(f"holds port {PORT}", said["0"])
        self.assertEqual(said["1"], "")

    def assert_listed_and_untouched(self, tree):
        self.wait_for_the_tree()
        (agent,) = children_of(tree.pid)

        self.assertNotIn("would be ended", self.dry_run())
        run = self.run_healthy_job()
        self.assert_status(run, 0)
        self.assertRegex(run.err, rf"left alone: pid {agent} .* holds port {PORT}: not started by safelaunch", str(run))
        self.assertIn("the job uses port", run.err)
        self.assertTrue(is_alive(agent))


if __name__ == "__main__":
    main()
