"""Scene f: a taken port is somebody's; the job gets another one, or the screen says who holds it."""

import os
import pathlib
import re
import subprocess
import sys
import unittest

from harness import DDP, SafelaunchTest, main, own_network, torchrun

LIGHT_WORKER = str(pathlib.Path(__file__).with_name("light_worker.py"))
PORT = 29500  # torchrun's, deepspeed's and accelerate's own default
HEALTHY = [DDP, "--steps", "5"]
# It takes connections, as the kernel does for it, and never answers: so does a forgotten job that is stopped.
HOLDER = "import socket, sys; s = socket.create_server(('127.0.0.1', int(sys.argv[1]))); print('up', flush=True); sys.stdin.read()"

SETS_A_PORT_BY_ITSELF = """
import os
import torch.distributed as dist

dist.init_process_group("gloo", init_method="tcp://127.0.0.1:29777", rank=int(os.environ["RANK"]),
                        world_size=int(os.environ["WORLD_SIZE"]))
"""

SPAWNS_AT_THE_VARIABLES_PORT = """
import os
import torch.distributed as dist
import torch.multiprocessing as mp


def rank(number):
    dist.init_process_group("gloo", init_method="env://", rank=number, world_size=2)
    dist.barrier()
    if number == 0:
        print("met at port", os.environ["MASTER_PORT"], flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(rank, nprocs=2)
"""


def setUpModule():
    if not own_network():
        raise unittest.SkipTest("port 29500 can only be had for sure in a network of our own")


class Ports(SafelaunchTest):
    """Scene f, on port 29500 of a network namespace of our own."""

    def hold(self, port=PORT):
        """Another program takes the port."""
        holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(holder.wait)
        self.addCleanup(holder.stdin.close)
        self.addCleanup(holder.stdout.close)
        holder.stdout.readline()
        return holder.pid

    def assert_holder_is_named(self, run, pid, port=PORT):
        user = re.escape(os.environ.get("USER", "")) or r"\S+"
        self.assertRegex(run.err, rf"[Pp]ort {port} is held by pid {pid} \(.*\) of user {user}, listening for [\d.]+s", str(run))

    def assert_rotated(self, run, pid):
        self.assert_status(run, 0)
        self.assertEqual(len(run.attempts), 1, str(run))
        self.assert_holder_is_named(run, pid)
        self.assertRegex(run.err, r"; the job uses port \d+ \(--port keep insists\)")

    def test_torchrun_on_a_taken_port_gets_another_one(self):
        pid = self.hold()
        self.assert_rotated(self.run_safelaunch(*torchrun("--nproc_per_node=2", f"--master_port={PORT}", *HEALTHY)), pid)

    def test_own_spawn_on_a_taken_port_gets_another_one(self):
        pid = self.hold()
        self.assert_rotated(self.run_safelaunch("--nproc-per-node", "2", "--master-port", PORT, "--", sys.executable,
                                                LIGHT_WORKER), pid)

    def test_deepspeed_on_its_fixed_port_gets_another_one(self):
        self.hold()
        run = self.run_safelaunch("deepspeed", "--num_gpus", "2", "--no_local_rank", LIGHT_WORKER)
        self.assert_status(run, 0)
        self.assertRegex(run.out, r"2 ranks met at port (?!29500)\d+")

    def test_a_port_that_the_user_keeps_stops_the_run_and_names_the_holder(self):
        pid = self.hold()
        run = self.run_safelaunch("--port", "keep", *torchrun("--nproc_per_node=2", f"--master_port={PORT}", *HEALTHY))
        self.assert_status(run, 75)
        self.assert_holder_is_named(run, pid)
        self.assertEqual(run.out, "")

    def test_own_spawn_that_keeps_its_port_takes_the_environments_or_torchs(self):
        light = ["--port", "keep", "--nproc-per-node", "2", "--", sys.executable, LIGHT_WORKER]
        for port, environment in [(PORT, {}), (29777, {"MASTER_PORT": "29777"})]:
            run = self.run_safelaunch(*light, env=self.environment(**environment))
            self.assert_status(run, 0)
            self.assertIn(f"2 ranks met at port {port}\n", run.out)

    def test_eight_jobs_at_once_on_default_ports_all_run(self):
        light = ["--nproc-per-node", "2", "--", sys.executable, LIGHT_WORKER]
        real = torchrun("--nproc_per_node=2", f"--master_port={PORT}", *HEALTHY)
        jobs = [self.start(*command) for command in [real, real] + [light] * 6]
        for run in [self.finish(job) for job in jobs]:
            with self.subTest(run=run.directory.name):
                self.assert_status(run, 0)
                self.assertEqual(len(run.attempts), 1, str(run))

    def test_a_command_that_meets_on_another_host_keeps_its_port(self):
        self.hold()  # by somebody else on this host, where rank 0 does not run
        tells = ["sh", "-c", "echo port $MASTER_PORT"]
        for variables in ({"MASTER_ADDR": "10.9.9.9"}, {"MASTER_ADDR": "node7"}, {"NNODES": "2", "NODE_RANK": "1"}, {}):
            with self.subTest(variables=variables):
                run = self.run_safelaunch("--no-preflight", *tells, env=self.environment(MASTER_PORT=str(PORT), **variables))
                self.assertEqual((run.status, run.out), (0, f"port {PORT}\n"), str(run))

    def test_two_parts_of_a_job_on_one_host_meet_although_only_one_is_below_safelaunch(self):
        part = self.script(f"export RANK=$1 WORLD_SIZE=2 LOCAL_RANK=$1\nexec {sys.executable} {LIGHT_WORKER}\n", "part.sh")
        environment = self.environment(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(PORT))
        other = subprocess.Popen(["bash", part, "1"], env=environment, cwd=self.folder, stdout=subprocess.DEVNULL)
        run = self.run_safelaunch("bash", part, "0", env=environment)
        self.assert_status(run, 0)
        self.assertIn(f"2 ranks met at port {PORT}\n", run.out)
        self.assertEqual(other.wait(60), 0)

    def test_a_script_whose_port_is_taken_is_healed_by_another_one(self):
        self.hold()
        run = self.run_safelaunch(sys.executable, self.script(SPAWNS_AT_THE_VARIABLES_PORT), env=self.environment(
            MASTER_ADDR="127.0.0.1", MASTER_PORT=str(PORT)))
        self.assert_status(run, 0)
        self.assertEqual([attempt.get("cause", {}).get("id") for attempt in run.attempts], ["port-taken", None], str(run))
        self.assertRegex(run.out, r"met at port (?!29500)\d+")

    def test_a_port_of_the_scripts_own_that_is_taken_is_named_with_its_holder(self):
        pid = self.hold(29777)
        run = self.run_safelaunch("--nproc-per-node", "2", "--", sys.executable, self.script(SETS_A_PORT_BY_ITSELF))
        self.assert_status(run, 1)
        self.assert_holder_is_named(run, pid, 29777)
        self.assertEqual([attempt["cause"]["id"] for attempt in run.attempts], ["port-taken"], str(run))

    def test_ranks_that_all_wait_for_another_program_are_told_whose_it_is(self):
        # Under torchrun every rank is a client of the agent's store, and so of whoever is there.
        pid = self.hold(29777)
        run = self.run_safelaunch("--init-timeout", "5s", *torchrun("--nproc_per_node=2", self.script(SETS_A_PORT_BY_ITSELF)))
        self.assert_status(run, 124)
        self.assert_holder_is_named(run, pid, 29777)
        self.assertEqual([attempt["cause"]["id"] for attempt in run.attempts], ["store-foreign"], str(run))

    def test_ranks_that_all_join_a_store_which_nobody_opens_are_told_so(self):
        run = self.run_safelaunch("--init-timeout", "5s", *torchrun("--nproc_per_node=2", self.script(SETS_A_PORT_BY_ITSELF)))
        self.assert_status(run, 124)
        self.assertIn("Nobody listens at 127.0.0.1:29777", run.err)
        cause = run.attempts[0]["cause"]
        self.assertEqual((cause["id"], cause["certainty"], len(run.attempts)), ("store-not-opened", "confirmed", 1), str(run))


if __name__ == "__main__":
    main(needs=("torch", "deepspeed"))
