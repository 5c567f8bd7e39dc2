"""What `safelaunch doctor` says on hosts on which one thing is wrong, made with namespaces."""

import json
import os
import pathlib
import socket
import subprocess
import sys
import unittest

from harness import SAFELAUNCH, SafelaunchTest, main
from own_mounts import old_file, own_shared_memory

BLOCKED = 75
RANK_1 = {"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2"}
WORLD = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GLOO_SOCKET_IFNAME", "TORCH_EXTENSIONS_DIR",
         "CUDA_VISIBLE_DEVICES")


def setUpModule():
    own_shared_memory()


class Doctor(SafelaunchTest):
    def setUp(self):
        super().setUp()
        self.home = self.folder / "home"
        self.home.mkdir()

    def plain(self, **more):
        """An environment that says nothing about jobs, but for what a test adds."""
        quiet = ("_proxy", "_PROXY")
        keep = {k: v for k, v in self.environment().items() if k not in WORLD and not k.endswith(quiet)}
        return {**keep, "HOME": str(self.home), **more}

    def doctor(self, *words, status=0, network=(), user=None, **environment):
        """The findings, by id; `network` are words for `ip`, in a network namespace with nothing but lo."""
        command = [SAFELAUNCH if user is None else self.program_for_all(), "doctor", "--json", *words]
        if network:
            setup = " && ".join(f"ip {line}" for line in ("link set lo up", *network))
            command = ["unshare", "--net", "sh", "-c", f'{setup} && exec "$@"', "sh", *command]
        done = subprocess.run(command, env=self.plain(**environment), cwd=self.folder, capture_output=True, text=True, timeout=60,
                              user=user)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        answer = json.loads(done.stdout)
        self.fixed = answer["fixed"]
        self.assertEqual(answer["blocked"], status == BLOCKED)
        return {finding["id"]: finding for finding in answer["findings"]}

    def test_a_healthy_host_has_no_findings(self):
        self.assertEqual(self.doctor(), {})
        self.assertEqual(self.doctor("torchrun", "--nproc-per-node=2", self.script("import torch\n")), {})
        said = subprocess.run([SAFELAUNCH, "doctor"], env=self.plain(), capture_output=True, text=True, timeout=60)
        self.assertEqual((said.returncode, said.stderr), (0, ""))
        self.assertTrue(said.stdout.endswith("\nno problems found\n"), said.stdout)
        for theme in ("python", "port", "/dev/shm", "limits", "locks"):
            self.assertRegex(said.stdout, f"(?m)^✓ {theme} ")

    def test_a_command_that_cannot_start_is_found(self):
        self.assertIn("command not found: 'nosuchcmd'", self.doctor("nosuchcmd", status=BLOCKED)["command"]["evidence"])
        for words in (["torchrun", "--nproc_per_node=8", "nofile.py"], [sys.executable, "nofile.py"]):
            self.assertIn("there is no script nofile.py", self.doctor(*words, status=BLOCKED)["command"]["evidence"])
        self.assertEqual(self.doctor("env", "-C", "/tmp", "python3", "nofile.py"), {})  # it may lie there

    def test_a_right_world_is_said_to_be_right(self):
        world = {**RANK_1, "RANK": "0", "LOCAL_RANK": "0", "MASTER_PORT": "29511"}
        said = subprocess.run([SAFELAUNCH, "doctor"], env=self.plain(**world, MASTER_ADDR="127.0.0.1"), capture_output=True, text=True, timeout=60)
        self.assertIn("✓ world       RANK=0 of 2 at 127.0.0.1:29511 looks right\n", said.stdout)

    def test_a_small_shared_memory_is_found(self):
        small = "mount -t tmpfs -o size=64m none /dev/shm && exec \"$@\""
        done = subprocess.run(["unshare", "--mount", "sh", "-c", small, "sh", SAFELAUNCH, "doctor", "--json"], env=self.plain(),
                              capture_output=True, text=True, timeout=60)
        (finding,) = json.loads(done.stdout)["findings"]
        self.assertEqual(finding["id"], "shm-small")
        self.assertIn("/dev/shm has 64 MiB free of 64 MiB (Docker's default)", finding["evidence"])

    def test_an_interface_that_does_not_exist_is_named_with_those_that_do(self):
        finding = self.doctor(GLOO_SOCKET_IFNAME="eth77")["ifname-missing"]
        self.assertRegex(finding["evidence"], r"GLOO_SOCKET_IFNAME=eth77: there is no interface eth77, there are lo")
        torchrun = ["torchrun", "--nnodes=2", "--node_rank=0", "train.py"]
        self.assertEqual(self.doctor(*torchrun, status=BLOCKED, GLOO_SOCKET_IFNAME="eth77")["ifname-missing"]["severity"], "blocks")

    def test_a_master_that_refuses_is_there(self):
        with socket.socket() as nobody_listens:
            nobody_listens.bind(("127.0.0.1", 0))
            port = str(nobody_listens.getsockname()[1])
            finding = self.doctor(**RANK_1, MASTER_ADDR="127.0.0.1", MASTER_PORT=port)["connect-failed"]
        self.assertEqual(finding["severity"], "note")
        self.assertIn("yet (connection refused)", finding["evidence"])

    def test_a_master_that_listens_is_no_finding(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = str(server.getsockname()[1])
            self.assertEqual(self.doctor(**RANK_1, MASTER_ADDR="127.0.0.1", MASTER_PORT=port), {})

    def test_a_master_behind_a_drop_times_out_within_two_seconds(self):
        # lo hands the packets back to us, and nobody here has the address: they are dropped.
        finding = self.doctor(status=BLOCKED, network=["route add 10.9.9.0/24 dev lo"], **RANK_1, MASTER_ADDR="10.9.9.9",
                              MASTER_PORT="29500")["connect-failed"]
        self.assertIn("10.9.9.9:29500 does not answer within 2s", finding["evidence"])

    def test_a_master_without_a_route_is_told_at_once(self):
        for route, told in [("route add unreachable 10.9.9.0/24", "No route to host"),
                            ("route add blackhole 10.9.9.0/24", "the route there is a blackhole"),
                            ("route show", "Network is unreachable")]:
            with self.subTest(route=route):
                finding = self.doctor(status=BLOCKED, network=[route], **RANK_1, MASTER_ADDR="10.9.9.9",
                                      MASTER_PORT="29500")["connect-failed"]
                self.assertIn(f"there is no route to 10.9.9.9:29500: {told}", finding["evidence"])

    def test_a_master_whose_name_is_this_host_itself_misleads_the_second_node(self):
        hosts = self.folder / "hosts"
        hosts.write_text("127.0.0.1 localhost\n127.0.1.1 node0\n")
        command = ["unshare", "--mount", "sh", "-c", f'mount --bind {hosts} /etc/hosts && exec "$@"', "sh", SAFELAUNCH, "doctor",
                   "--json", "torchrun", "--nnodes=2", "--node_rank=1", "--master_addr=node0", self.script("", "train.py")]
        done = subprocess.run(command, env=self.plain(), capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("the master node0 of 2 nodes leads to this host itself (127.0.1.1)", done.stdout)

    def test_a_rank_without_its_world_is_refused(self):
        master = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}
        finding = self.doctor(status=BLOCKED, RANK="0", **master)["world-variables"]
        self.assertEqual(finding["evidence"], "RANK=0 is set, but not WORLD_SIZE")
        self.assertEqual(self.doctor(RANK="0")["world-variables"]["severity"], "risk")
        torchrun = ["torchrun", "--nproc-per-node=2", self.script("")]
        self.assertNotIn("world-variables", self.doctor(*torchrun, RANK="0", **master))

    def test_rank_zero_needs_its_port(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = str(server.getsockname()[1])
            rank_0 = {**RANK_1, "RANK": "0", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
            finding = self.doctor(status=BLOCKED, **rank_0)["port-taken"]
        self.assertIn(f"port {port} is held by pid {os.getpid()}", finding["evidence"])

    def test_a_stale_lock_is_found_and_fixed_and_a_fresh_one_is_left(self):
        folder = self.home / ".cache/torch_extensions/py311_cpu"
        stale, fresh = old_file(folder / "cpu_adam/lock"), folder / "fused_adam/lock"
        fresh.parent.mkdir()
        fresh.touch()
        user = self.give_away(self.folder)
        finding = self.doctor(user=user)["extension-lock"]
        self.assertIn(str(stale), finding["evidence"])
        self.assertTrue(stale.exists(), "without --fix nothing is done")
        self.doctor("--fix", user=user)
        self.assertRegex(self.fixed[0], rf"removed: {stale} .*: made 1h ago; nobody holds it")
        self.assertFalse(stale.exists())
        self.assertTrue(fresh.exists())

    def give_away(self, folder):
        """A user who has nothing but the folder: what else runs on the machine, a compiler say, is none of theirs."""
        if os.geteuid() != 0:
            return None
        nobody = 65534
        for path in [folder, *folder.rglob("*")]:
            os.chown(path, nobody, nobody)
        return nobody

    def test_a_lock_in_whose_folder_somebody_works_is_left_alone(self):
        lock = old_file(self.home / ".cache/torch_extensions/py311_cpu/cpu_adam/lock")
        with subprocess.Popen(["cat"], cwd=lock.parent, stdin=subprocess.PIPE) as builder:
            self.assertNotIn("extension-lock", self.doctor("--fix"))
            builder.communicate()
        self.assertTrue(lock.exists())

    def test_a_segment_that_a_dead_job_left_is_found_and_fixed(self):
        left = old_file(pathlib.Path("/dev/shm/nccl-left01"))
        self.addCleanup(left.unlink, missing_ok=True)
        os.chown(left, self.give_away(self.folder), -1)
        finding = self.doctor(user=left.stat().st_uid)["shm-leaked"]
        self.assertIn("64 KiB of /dev/shm in 1 file that no process seems to use, such as /dev/shm/nccl-left01", finding["evidence"])
        if not finding["fixable"]:
            self.skipTest("from inside a container nobody can tell: " + finding["evidence"])
        self.doctor("--fix", user=left.stat().st_uid)
        self.assertRegex(self.fixed[0], r"removed: /dev/shm/nccl-left01 .*: written 1h ago, and nobody has it open")
        self.assertFalse(left.exists())

    def test_segments_in_use_and_of_strangers_are_left_alone(self):
        held = old_file(pathlib.Path("/dev/shm/nccl-held01"))
        strange = old_file(pathlib.Path("/dev/shm/somebody-else"))
        self.addCleanup(held.unlink)
        self.addCleanup(strange.unlink)
        with held.open("rb"):
            self.assertNotIn("shm-leaked", self.doctor("--fix"))
        self.assertTrue(held.exists() and strange.exists())
        # This very test is a Python process, though a younger one than the file: whoever is older may know its name.
        self.assertIn("/dev/shm/nccl-held01", self.doctor()["shm-leaked"]["evidence"])

    def test_a_proxy_matters_to_a_script_that_imports_jax(self):
        jax, torch = self.script("import jax\n", "jax_job.py"), self.script("import torch\n", "torch_job.py")
        proxy = {"http_proxy": "http://proxy:3128"}
        self.assertIn("http_proxy is set", self.doctor(sys.executable, jax, **proxy)["jax-proxy"]["evidence"])
        self.assertEqual(self.doctor(sys.executable, torch, **proxy), {})
        self.assertEqual(self.doctor(sys.executable, jax, **proxy, no_proxy="localhost"), {})

    def test_an_option_that_the_launcher_adds_and_the_script_does_not_know_is_told_beforehand(self):
        script = self.script('"""Takes --local-rank?"""\nparser.add_argument("--local_rank", type=int)\nparser.parse_args()\n')
        launch = [sys.executable, "-m", "torch.distributed.launch", "--nproc_per_node", "2"]
        self.assertIn("names only --local_rank", self.doctor(*launch, script)["local-rank-argument"]["evidence"])
        self.assertEqual(self.doctor(*launch, "--use_env", script), {})

    def test_deepspeed_without_a_launcher_is_told_beforehand(self):
        script = self.script("import deepspeed\ndeepspeed.init_distributed()\n")
        self.assertIn("no launcher sets RANK", self.doctor(sys.executable, script)["deepspeed-without-launcher"]["evidence"])
        self.assertNotIn("deepspeed-without-launcher", self.doctor("torchrun", "--nproc-per-node", "1", script))

    def test_a_configuration_of_two_machines_at_the_loopback_is_told_beforehand(self):
        config, script = self.folder / "two.yaml", self.script("import torch\n")
        config.write_text("distributed_type: MULTI_GPU\nmachine_rank: 0\nmain_process_ip: 127.0.0.1\nmain_process_port: 29456\n"
                          "num_machines: 2\nnum_processes: 4\nrdzv_backend: static\n")
        found = self.doctor("accelerate", "launch", "--config_file", config, script)
        self.assertIn("node 0 of 2", found["nodes-missing"]["evidence"])
        self.assertNotIn("nodes-missing", self.doctor("accelerate", "launch", "--config_file", config, "--num_machines", "1", script))

    def test_a_run_is_stopped_by_what_blocks_and_says_so_in_one_line(self):
        setup = 'ip link set lo up && exec "$@"'
        command = ["unshare", "--net", "sh", "-c", setup, "sh", SAFELAUNCH, "--run-dir"]
        elsewhere = self.plain(**RANK_1, MASTER_ADDR="10.9.9.9", MASTER_PORT="29500")
        done = subprocess.run([*command, self.folder / "run", "echo", "ran"], env=elsewhere, capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout), (BLOCKED, ""))
        self.assertRegex(done.stderr, r"\Asafelaunch: blocked: connect-failed: there is no route to 10\.9\.9\.9:29500: .*\n\Z")
        events = [json.loads(line) for line in (self.folder / "run/events.jsonl").read_text().splitlines()]
        self.assertEqual([event["id"] for event in events if event["e"] == "finding"], ["connect-failed"])
        done = subprocess.run([*command, self.folder / "again", "--no-preflight", "echo", "ran"], env=elsewhere, capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "ran\n", ""))

    def test_a_run_tells_a_risk_in_one_line_and_nothing_of_notes(self):
        run = self.run_safelaunch("echo", "ran", env=self.plain(GLOO_SOCKET_IFNAME="eth77", NCCL_TIMEOUT="60"))
        self.assertEqual((run.status, run.out), (0, "ran\n"))
        self.assertRegex(run.err, r"\Asafelaunch: risk: ifname-missing: GLOO_SOCKET_IFNAME=eth77: .*\n\Z")
        healed = self.run_safelaunch("--profile", "loopback", "echo", "ran", env=self.plain(GLOO_SOCKET_IFNAME="eth77"))
        self.assertEqual(healed.err, "", "what the profile puts right is no risk")

    def test_a_stale_lock_is_told_before_a_job_that_builds_extensions_and_before_no_other(self):
        lock = old_file(self.home / ".cache/torch_extensions/py311_cpu/cpu_adam/lock")
        deepspeed = self.folder / "deepspeed"
        deepspeed.write_text("#!/bin/sh\n")
        deepspeed.chmod(0o755)
        self.assertEqual(self.run_safelaunch("echo", env=self.plain()).err, "")
        self.assertIn(f"safelaunch: risk: extension-lock: {lock}", self.run_safelaunch(deepspeed, "train.py", env=self.plain()).err)

    def test_a_forgotten_file_of_nccl_is_named_with_its_line(self):
        (self.home / ".nccl.conf").write_text("# old\nNCCL_P2P_DISABLE=1\n")
        self.assertIn(f"{self.home}/.nccl.conf:2 sets NCCL_P2P_DISABLE=1", self.doctor()["variable"]["evidence"])

    def test_every_id_of_the_catalogue_can_be_explained(self):
        for finding in self.doctor(GLOO_SOCKET_IFNAME="eth77"):
            said = subprocess.run([SAFELAUNCH, "explain", finding], capture_output=True, text=True, timeout=60).stdout
            self.assertNotIn("we know no reader", said)

    def test_a_wrong_option_is_refused(self):
        done = subprocess.run([SAFELAUNCH, "doctor", "--fixx"], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 64)
        self.assertIn("did you mean '--fix'", done.stderr)


if __name__ == "__main__":
    main(needs=())
