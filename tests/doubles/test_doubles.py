"""The doubles themselves: they reduce rightly, fail as they are told to, and print what real NCCL printed.

SAFELAUNCH_DOUBLES names the folder with the three libraries, SAFELAUNCH_WORKER the rank of a job that opens them.
Each scene of tests/data/nccl is played again, and the lines of each rank are compared with the real ones.
"""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from free_port import free_port  # noqa: E402

DOUBLES = os.environ.get("SAFELAUNCH_DOUBLES", "")
WORKER = os.environ.get("SAFELAUNCH_WORKER", "")
VERSIONS = ["2.18.5", "2.21.5", "2.24.3", "2.26.5", "2.27.7", "2.28.9", "2.29.7", "2.30.7"]
ALL_LINES = {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,BOOTSTRAP,ENV,NET"}
KILLED = -signal.SIGKILL  # the status of a rank that hung until we had seen enough


SMALL_SHM = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o size=1m tmpfs /dev/shm && exec "$@"', "sh"]


def can_mount():
    """May this user have a /dev/shm of its own?"""
    return subprocess.run([*SMALL_SHM, "true"], capture_output=True).returncode == 0


class Rank:
    """One finished rank: status, what it said, its NCCL log."""

    def __init__(self, status, said, log):
        self.status, self.said, self.log = status, said, log


def run_job(ranks, *words, seconds=30, each=lambda rank: {}, within=(), enough=lambda logs: False, **environment):
    """Runs the ranks of one job together. What still runs when its logs are `enough`, or after `seconds`, is killed.

    `each` gives a rank's own variables, `within` words that stand before the command.
    """
    folder = pathlib.Path(tempfile.mkdtemp(prefix="safelaunch-doubles-"))
    keep = {name: value for name, value in os.environ.items() if not name.startswith(("NCCL_", "SAFELAUNCH_DOUBLE_"))}
    port = str(free_port())
    processes = []
    for rank in range(ranks):
        own = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1",
               "MASTER_PORT": port, "LD_LIBRARY_PATH": DOUBLES, "SAFELAUNCH_DOUBLE_GPUS": str(max(ranks, 2)),
               "NCCL_DEBUG_FILE": str(folder / "%h.%p"), **environment, **each(rank)}
        with open(folder / f"said-{rank}", "w") as said:
            processes.append(subprocess.Popen([*within, WORKER, *words], env={**keep, **own}, stdout=said, stderr=said))

    def log_of(process):
        return "".join(path.read_text() for path in folder.glob(f"*.{process.pid}"))

    end = time.monotonic() + seconds
    while any(process.poll() is None for process in processes) and time.monotonic() < end:
        if enough([log_of(process) for process in processes]):
            break
        time.sleep(0.02)
    for process in processes:
        process.kill()
        process.wait()
    finished = [Rank(process.returncode, (folder / f"said-{rank}").read_text(), log_of(process))
                for rank, process in enumerate(processes)]
    shutil.rmtree(folder)
    return finished


def shape(log):
    """The lines of a log without what differs from run to run, and without the proxy threads' chatter."""
    lines = []
    for line in log.splitlines():
        match = re.match(r"(?P<time>\[[-\d :]+\] )?\S+:\d+:\d+ \[-?\d+\] (?P<text>.*)", line)
        if not match:
            continue
        text = ("[time] " if match["time"] else "") + match["text"]
        text = re.sub(r"0x[0-9a-f]+", "0x", text)
        text = re.sub(r"/dev/shm/nccl-\w+", "/dev/shm/nccl-X", text)
        text = re.sub(r"(\w[\w.]*:)?[\d.]+<\d+>", "ADDRESS", text)
        text = re.sub(r"\d+\.\d\d+", "0.0", text) if "timings" in text else text
        text = re.sub(r"HCA 0 '\w+'|name = \w+", "INTERFACE", text)
        text = re.sub(r"nranks \d vs \d|procs \d : \d", "nranks DIFFER", text)  # which comes first is a race
        text = text.replace("ncclCommInitRankConfig", "ncclCommInitRank")
        if not re.search(r"New proxy|to proxy|\[Proxy|proxy listening|retrying \(|RAS client|libcuda.so|cudaDriverVersion"
                         r"|handshake magic|Symmetric VA|NCCL_CUMEM_ENABLE set", text):
            lines.append(text)
    return lines


def transcript(version, scene):
    """What real NCCL wrote: one log a rank, in the order of ranks."""
    text = (ROOT / "tests/data/nccl" / f"{version}.log").read_text()
    body = next(part for part in re.split(r"(?m)^### ", text) if part.startswith(scene + ":"))
    logs = {}
    for line in body.splitlines()[1:]:
        match = re.match(r"(?:\[[-\d :]+\] )?\w+:(\d+):", line)
        if match:
            logs.setdefault(match[1], []).append(line)
    return ["\n".join(lines) for lines in logs.values()]


class DoublesTest(unittest.TestCase):
    maxDiff = None

    def assert_all_end(self, ranks, status):
        self.assertEqual([rank.status for rank in ranks], [status] * len(ranks), "\n".join(rank.said for rank in ranks))


class Transcripts(DoublesTest):
    """Scene by scene and release by release the double writes what NCCL wrote."""

    def play(self, scene, ranks, *words, without=(), logs_of=None, only_begin=False, **how):
        """Plays the scene with every release; a job that hangs is ended when its logs are as they should be.

        With `only_begin` more lines may follow: of a rank that came after the root had gone, or of a collective
        whose kernels did nothing when the transcript was taken.
        """
        logs_of = logs_of or range(ranks)
        for version in VERSIONS:
            if version in without:
                continue
            expected = [shape(log) for log in transcript(version, scene)]

            def compare(logs, expected=expected):
                got = [shape(logs[rank]) for rank, _ in zip(logs_of, expected)]
                if only_begin:
                    got = [lines[:len(wanted)] for lines, wanted in zip(got, expected)]
                # The root's thread speaks when it likes.
                return [sorted(lines) if any("Bootstrap Root" in line for line in wanted) else lines
                        for lines, wanted in zip(got, expected)]

            wanted = compare({rank: log for rank, log in zip(logs_of, transcript(version, scene))})
            with self.subTest(version):
                played = run_job(ranks, *words, SAFELAUNCH_DOUBLE_NCCL=version, seconds=10,
                                 enough=lambda logs: compare(logs) == wanted, **ALL_LINES, **how)
                for rank, real, double in zip(logs_of, wanted, compare([rank.log for rank in played])):
                    self.assertEqual(double, real, f"rank {rank}")

    def test_a_healthy_job_without_cumem(self):
        self.play("ok", 2, NCCL_CUMEM_ENABLE="0")

    def test_a_healthy_job_with_cumem_connects_in_the_first_collective(self):
        self.play("ok-cumem", 2)

    def test_two_ranks_on_one_gpu(self):
        self.play("duplicate-gpu", 2, each=lambda rank: {"LOCAL_RANK": "0"})

    def test_an_interface_that_is_not_there(self):
        self.play("no-such-interface", 2, NCCL_SOCKET_IFNAME="nope")

    def test_a_network_that_is_not_there(self):
        self.play("no-such-net", 2, logs_of=[0], NCCL_P2P_DISABLE="1", NCCL_SHM_DISABLE="1", NCCL_NET="nosuch")

    def test_a_rank_that_does_not_come_leaves_the_others_in_silence(self):
        self.play("missing-rank-1", 3, "--absent-rank", "1", logs_of=[0, 2])

    def test_another_number_of_ranks_is_one_line_at_rank_0(self):
        self.play("nranks-differ", 3, only_begin=True, each=lambda rank: {"WORLD_SIZE": "4" if rank == 1 else "3"})

    def test_a_doubled_rank_is_one_line_at_rank_0(self):
        self.play("duplicate-rank", 3, only_begin=True, each=lambda rank: {"RANK": str(min(rank, 1))})

    def test_ranks_with_hosts_of_their_own_go_over_the_network(self):
        self.play("two-nodes-by-hostid", 2, without=["2.18.5"], only_begin=True, NCCL_CUMEM_ENABLE="0",
                  each=lambda rank: {"NCCL_HOSTID": f"fake{rank}"})

    @unittest.skipUnless(can_mount(), "no mount namespace of its own")
    def test_a_small_shared_memory(self):
        self.play("shm-small", 2, within=SMALL_SHM, NCCL_P2P_DISABLE="1", NCCL_CUMEM_ENABLE="0",
                  NCCL_CUMEM_HOST_ENABLE="0", SAFELAUNCH_DOUBLE_FAULT="shm-small")

    @unittest.skipUnless(can_mount(), "no mount namespace of its own")
    def test_without_shared_memory_the_proxy_s_pool_does_not_fit_either(self):
        self.play("shm-small-and-shm-off", 2, without=["2.18.5"], within=SMALL_SHM, NCCL_P2P_DISABLE="1",
                  NCCL_SHM_DISABLE="1", NCCL_CUMEM_ENABLE="0", SAFELAUNCH_DOUBLE_FAULT="shm-small")

    @unittest.skipUnless(can_mount(), "no mount namespace of its own")
    def test_cumem_host_buffers_heal_a_small_shared_memory(self):
        self.play("shm-small-cumem-host", 2, within=SMALL_SHM, NCCL_P2P_DISABLE="1", NCCL_CUMEM_HOST_ENABLE="1",
                  SAFELAUNCH_DOUBLE_FAULT="shm-small")


class Collectives(DoublesTest):
    """All_reduces between processes, with their sums checked by the worker."""

    def test_sums_are_right_with_any_number_of_ranks(self):
        for ranks in 1, 2, 3, 4:
            for count in 1, 1000, 300001:
                with self.subTest(ranks=ranks, count=count):
                    self.assert_all_end(run_job(ranks, "--count", str(count)), 0)

    def test_sums_are_right_on_a_communicator_that_does_not_block(self):
        self.assert_all_end(run_job(4, "--non-blocking", "--steps", "20"), 0)

    def test_sums_are_right_over_shared_memory_and_over_the_network(self):
        self.assert_all_end(run_job(3, NCCL_P2P_DISABLE="1"), 0)
        self.assert_all_end(run_job(3, NCCL_P2P_DISABLE="1", NCCL_SHM_DISABLE="1"), 0)


class Faults(DoublesTest):
    """What is told to fail fails with NCCL's line, and is healed by what heals NCCL."""

    def fails(self, fault, line, status=1, **environment):
        ranks = run_job(2, SAFELAUNCH_DOUBLE_FAULT=fault, **ALL_LINES, **environment)
        self.assert_all_end(ranks, status)
        for rank in ranks:
            self.assertIn(line, rank.log)

    def hangs(self, fault, **environment):
        ranks = run_job(2, SAFELAUNCH_DOUBLE_FAULT=fault, enough=lambda logs: all("Connected all" in log for log in logs),
                        **ALL_LINES, **environment)
        self.assert_all_end(ranks, KILLED)

    def works(self, fault, **environment):
        self.assert_all_end(run_job(2, SAFELAUNCH_DOUBLE_FAULT=fault, **environment), 0)

    def test_infiniband_fails_unless_it_is_off(self):
        self.fails("ib", "NCCL WARN Call to ibv_create_cq failed with error Cannot allocate memory")
        self.works("ib", NCCL_IB_DISABLE="1")
        self.works("ib", NCCL_NET="Socket")

    def test_p2p_hangs_the_first_collective_unless_it_is_off(self):
        self.hangs("p2p-hang")
        self.works("p2p-hang", NCCL_P2P_DISABLE="1")

    def test_a_kernel_that_never_runs_hangs_whatever_is_set(self):
        self.hangs("no-kernel", NCCL_P2P_DISABLE="1")

    def test_nvlink_sharp_fails_init_unless_it_is_off(self):
        self.fails("nvls", "NCCL WARN Failed to bind NVLink SHARP (NVLS) Multicast memory")
        self.works("nvls", NCCL_NVLS_ENABLE="0")

    def test_nvlink_sharp_is_given_up_silently_by_2_28(self):
        self.works("nvls", SAFELAUNCH_DOUBLE_NCCL="2.28.9")

    def test_one_gpu_for_all_is_refused(self):
        self.fails("duplicate-gpu", "NCCL WARN Duplicate GPU detected")
        self.works("duplicate-gpu", SAFELAUNCH_DOUBLE_NCCL="2.30.7", NCCL_MULTI_RANK_GPU_ENABLE="1")

    def test_memory_that_is_full(self):
        self.fails("oom", "NCCL WARN Cuda failure 2 'out of memory'")
        self.fails("oom", "NCCL WARN Cuda failure 'out of memory'", NCCL_CUMEM_ENABLE="0")

    def test_a_crash_in_init(self):
        self.fails("crash-in-init", "Init START", status=-signal.SIGSEGV)

    def test_two_patches_of_one_release(self):
        self.fails("mismatch", "NCCL WARN Mismatched NCCL version detected")

    def test_two_releases_that_still_meet(self):
        older, newer = run_job(2, each=lambda rank: {"SAFELAUNCH_DOUBLE_NCCL": ["2.29.7", "2.30.7"][rank]}, **ALL_LINES)
        self.assertIn("Message truncated : received 144 bytes instead of 128", older.log)
        self.assertIn("remote process exited", newer.said)

    def test_two_releases_that_do_not_understand_each_other_hang(self):
        ranks = run_job(2, each=lambda rank: {"SAFELAUNCH_DOUBLE_NCCL": ["2.29.7", "2.27.7"][rank]},
                        enough=lambda logs: "Bootstrap Root : mismatch" in logs[0], **ALL_LINES)
        self.assert_all_end(ranks, KILLED)

    def test_a_driver_that_is_not_there_or_too_old(self):
        for trouble in "none", "old":
            ranks = run_job(2, SAFELAUNCH_DOUBLE_CUDA=trouble)
            self.assertNotEqual(ranks[0].status, 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
