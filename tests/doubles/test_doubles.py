"""The doubles themselves: they reduce rightly, fail as they are told to, and print what real NCCL printed.

SAFELAUNCH_DOUBLES names the folder with the three libraries, SAFELAUNCH_WORKER the rank of a job that opens them.
Each scene of tests/data/nccl is played again, and the lines of each rank are compared with the real ones.
"""

import concurrent.futures
import ctypes
import itertools
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
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


class Knobs(unittest.TestCase):
    """Sets variables for one test."""

    def knob(self, name, value):
        self.addCleanup(os.environ.pop, name, None)
        os.environ[name] = value


class Cuda(Knobs):
    NOT_READY, NO_DEVICE = 600, 100

    def setUp(self):
        self.cuda = ctypes.CDLL(f"{DOUBLES}/libcuda.so.1")
        self.assertEqual(self.cuda.cuInit(0), 0)
        context, self.stream = ctypes.c_void_p(), ctypes.c_void_p()
        self.cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
        self.cuda.cuCtxSetCurrent(context)
        self.cuda.cuStreamCreate(ctypes.byref(self.stream), 1)
        self.addCleanup(self.cuda.cuStreamDestroy_v2, self.stream)

    def test_memory_holds_what_was_copied(self):
        address, back = ctypes.c_uint64(), ctypes.create_string_buffer(8)
        self.assertEqual(self.cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(8)), 0)
        self.cuda.cuMemcpyHtoD_v2(address, b"abcdefgh", ctypes.c_size_t(8))
        self.cuda.cuMemcpyDtoH_v2(back, address, ctypes.c_size_t(8))
        self.assertEqual(back.raw, b"abcdefgh")
        self.assertEqual(self.cuda.cuMemFree_v2(address), 0)

    def test_a_stream_and_its_events_wait_for_the_work_before_them(self):
        may_end, event = threading.Event(), ctypes.c_void_p()
        work = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: may_end.wait())
        self.cuda.cuEventCreate(ctypes.byref(event), 0)
        self.cuda.cuLaunchHostFunc(self.stream, work, None)
        self.cuda.cuEventRecord(event, self.stream)
        self.assertEqual(self.cuda.cuStreamQuery(self.stream), self.NOT_READY)
        self.assertEqual(self.cuda.cuEventQuery(event), self.NOT_READY)
        may_end.set()
        self.cuda.cuStreamSynchronize(self.stream)
        self.assertEqual(self.cuda.cuEventQuery(event), 0)

    def test_a_name_without_a_version_leads_to_the_newest(self):
        found = ctypes.c_void_p()
        self.assertEqual(self.cuda.cuGetProcAddress_v2(b"cuMemAlloc", ctypes.byref(found), 12000, ctypes.c_uint64(0), None), 0)
        self.assertEqual(found.value, ctypes.cast(self.cuda.cuMemAlloc_v2, ctypes.c_void_p).value)

    def test_only_visible_devices_count(self):
        count, name = ctypes.c_int(), ctypes.create_string_buffer(16)
        self.knob("SAFELAUNCH_DOUBLE_GPUS", "4")
        self.knob("CUDA_VISIBLE_DEVICES", "3,1,nonsense,2")
        self.cuda.cuDeviceGetCount(ctypes.byref(count))
        self.assertEqual(count.value, 2)
        self.cuda.cuDeviceGetPCIBusId(name, 16, 0)
        self.assertEqual(name.value, b"0000:40:00.0")

    def test_a_driver_without_a_device(self):
        self.knob("SAFELAUNCH_DOUBLE_CUDA", "none")
        self.assertEqual(self.cuda.cuInit(0), self.NO_DEVICE)


class Nvml(Knobs):
    LOST, NOT_LOADED, INSUFFICIENT_SIZE = 15, 9, 7

    def setUp(self):
        self.nvml = ctypes.CDLL(f"{DOUBLES}/libnvidia-ml.so.1")

    def gpu(self, index=0):
        self.assertEqual(self.nvml.nvmlInit_v2(), 0)
        self.addCleanup(self.nvml.nvmlShutdown)
        gpu = ctypes.c_void_p()
        status = self.nvml.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(gpu))
        return gpu if status == 0 else status

    def processes(self, gpu):
        """Their number, and the pid of the first."""
        count, infos = ctypes.c_uint(0), (ctypes.c_uint32 * 6)()
        if self.nvml.nvmlDeviceGetComputeRunningProcesses_v3(gpu, ctypes.byref(count), None) == self.INSUFFICIENT_SIZE:
            self.nvml.nvmlDeviceGetComputeRunningProcesses_v3(gpu, ctypes.byref(count), infos)
        return count.value, infos[0]

    def test_a_busy_gpu_drains_when_its_process_ends(self):
        with subprocess.Popen(["sleep", "1000"]) as holder:
            self.knob("SAFELAUNCH_DOUBLE_NVML", f"busy:{holder.pid}:4096")
            gpu, memory = self.gpu(), (ctypes.c_uint64 * 3)()
            self.assertEqual(self.processes(gpu), (1, holder.pid))
            self.nvml.nvmlDeviceGetMemoryInfo(gpu, memory)
            self.assertGreater(memory[2], 4096 << 20)
            holder.kill()
            holder.wait()
            self.assertEqual(self.processes(gpu), (0, 0))

    def test_a_gpu_that_is_lost(self):
        self.knob("SAFELAUNCH_DOUBLE_NVML", "lost")
        self.assertEqual(self.gpu(0), self.LOST)
        self.assertNotEqual(self.gpu(1), self.LOST)

    def test_a_driver_that_is_not_loaded(self):
        self.knob("SAFELAUNCH_DOUBLE_NVML", "none")
        self.assertEqual(self.nvml.nvmlInit_v2(), self.NOT_LOADED)

    def test_both_libraries_tell_of_the_same_gpus(self):
        uuid, cuda_uuid = ctypes.create_string_buffer(96), (ctypes.c_ubyte * 16)()
        self.nvml.nvmlDeviceGetUUID(self.gpu(1), uuid, 96)
        cuda = ctypes.CDLL(f"{DOUBLES}/libcuda.so.1")
        cuda.cuInit(0)
        cuda.cuDeviceGetUuid_v2(cuda_uuid, 1)
        self.assertEqual(uuid.value.decode().replace("-", ""), "GPU" + bytes(cuda_uuid).hex())


class UniqueId(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_char * 128)]


class Nccl(Knobs):
    """All calls that move data, by ranks that are threads of this process."""

    IN_PROGRESS, REMOTE_ERROR = 7, 6
    SUM, PROD, MAX, MIN, AVG = range(5)
    FLOAT = 7
    TYPES = {0: "b", 1: "B", 2: "i", 3: "I", 4: "q", 5: "Q", 6: "e", 7: "f", 8: "d"}  # ncclDataType_t → struct

    def setUp(self):
        self.knob("SAFELAUNCH_DOUBLE_GPUS", "4")
        self.cuda = ctypes.CDLL(f"{DOUBLES}/libcuda.so.1")  # NCCL finds it by its name then
        self.nccl = ctypes.CDLL(f"{DOUBLES}/libnccl.so.2")
        self.cuda.cuInit(0)

    def use_device(self, device):
        context = ctypes.c_void_p()
        self.cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
        self.cuda.cuCtxSetCurrent(context)

    def in_ranks(self, ranks, work):
        """Runs work(rank, comm) as each rank, and gives back what they gave."""
        unique_id = UniqueId()
        self.assertEqual(self.nccl.ncclGetUniqueId(ctypes.byref(unique_id)), 0)

        def as_rank(rank):
            self.use_device(rank)
            comm = ctypes.c_void_p()
            self.assertEqual(self.nccl.ncclCommInitRank(ctypes.byref(comm), ranks, unique_id, rank), 0)
            result = work(rank, comm)
            self.assertEqual(self.nccl.ncclCommDestroy(comm), 0)
            return result

        with concurrent.futures.ThreadPoolExecutor(ranks) as pool:
            return list(pool.map(as_rank, range(ranks)))

    def move(self, call, code, given, taken, *words):
        """Does `call` on a buffer of `given` values, and gives back the `taken` ones."""
        source = ctypes.create_string_buffer(struct.pack(f"{len(given)}{code}", *given))
        target = ctypes.create_string_buffer(struct.calcsize(code) * taken)
        self.assertEqual(getattr(self.nccl, call)(source, target, *words, None), 0)
        self.assertEqual(self.cuda.cuStreamSynchronize(None), 0)
        return list(struct.unpack(f"{taken}{code}", target.raw[:struct.calcsize(code) * taken]))

    def size(self, number):
        return ctypes.c_size_t(number)

    def test_every_type_and_operation_reduces_rightly(self):
        expected = {self.SUM: 9, self.PROD: 24, self.MAX: 4, self.MIN: 2, self.AVG: 3}
        for (kind, code), (op, result) in itertools.product(self.TYPES.items(), expected.items()):
            with self.subTest(type=code, op=op):
                got = self.in_ranks(3, lambda rank, comm: self.move(
                    "ncclAllReduce", code, [rank + 2] * 5, 5, self.size(5), kind, op, comm))
                self.assertEqual(got, [[result] * 5] * 3)

    def test_all_that_is_gathered_scattered_and_told(self):
        one = self.size(1)
        moves = {
            "ncclAllGather": (lambda rank, comm: self.move("ncclAllGather", "f", [rank], 3, one, self.FLOAT, comm),
                              [[0, 1, 2]] * 3),
            "ncclReduceScatter": (lambda rank, comm: self.move("ncclReduceScatter", "f", [rank, 10, 20], 1, one, self.FLOAT,
                                                               self.SUM, comm), [[3], [30], [60]]),
            "ncclBroadcast": (lambda rank, comm: self.move("ncclBroadcast", "f", [rank], 1, one, self.FLOAT, 2, comm),
                              [[2]] * 3),
            "ncclReduce": (lambda rank, comm: self.move("ncclReduce", "f", [rank], 1, one, self.FLOAT, self.SUM, 1, comm),
                           [[0], [3], [0]]),
        }
        for name, (move, expected) in moves.items():
            with self.subTest(name):
                self.assertEqual(self.in_ranks(3, move), expected)

    def test_pairs_in_one_group_pass_at_once(self):
        def pass_on(rank, comm):
            mine, theirs = ctypes.c_float(rank), ctypes.c_float()
            self.nccl.ncclGroupStart()
            self.nccl.ncclSend(ctypes.byref(mine), self.size(1), self.FLOAT, (rank + 1) % 3, comm, None)
            self.nccl.ncclRecv(ctypes.byref(theirs), self.size(1), self.FLOAT, (rank + 2) % 3, comm, None)
            self.assertEqual(self.nccl.ncclGroupEnd(), 0)
            self.cuda.cuStreamSynchronize(None)
            return theirs.value

        self.assertEqual(self.in_ranks(3, pass_on), [2, 0, 1])

    def test_a_communicator_is_split_by_color_and_ordered_by_key(self):
        def split(rank, comm):
            child, number = ctypes.c_void_p(), ctypes.c_int()
            self.assertEqual(self.nccl.ncclCommSplit(comm, rank % 2, -rank, ctypes.byref(child), None), 0)
            self.nccl.ncclCommUserRank(child, ctypes.byref(number))
            total = self.move("ncclAllReduce", "f", [rank], 1, self.size(1), self.FLOAT, self.SUM, child)
            self.nccl.ncclCommDestroy(child)
            return number.value, total

        self.assertEqual(self.in_ranks(4, split), [(1, [2]), (1, [4]), (0, [2]), (0, [4])])

    def test_abort_returns_at_once_while_a_rank_is_missing(self):
        self.knob("NCCL_COMM_BLOCKING", "0")
        unique_id, comm, state = UniqueId(), ctypes.c_void_p(), ctypes.c_int()
        self.nccl.ncclGetUniqueId(ctypes.byref(unique_id))
        self.use_device(0)
        self.assertEqual(self.nccl.ncclCommInitRank(ctypes.byref(comm), 2, unique_id, 0), self.IN_PROGRESS)
        self.nccl.ncclCommGetAsyncError(comm, ctypes.byref(state))
        self.assertEqual(state.value, self.IN_PROGRESS)
        self.assertEqual(self.nccl.ncclCommAbort(comm), 0)

    def test_abort_frees_a_stream_whose_kernel_never_ends(self):
        self.knob("SAFELAUNCH_DOUBLE_FAULT", "no-kernel")
        unique_id, comm, number = UniqueId(), ctypes.c_void_p(), ctypes.c_float()
        self.nccl.ncclGetUniqueId(ctypes.byref(unique_id))
        self.use_device(0)
        self.nccl.ncclCommInitRank(ctypes.byref(comm), 1, unique_id, 0)
        where = ctypes.byref(number)
        self.assertEqual(self.nccl.ncclAllReduce(where, where, self.size(1), self.FLOAT, self.SUM, comm, None), 0)
        self.assertEqual(self.cuda.cuStreamQuery(None), Cuda.NOT_READY)
        self.assertEqual(self.nccl.ncclCommAbort(comm), 0)
        self.assertEqual(self.cuda.cuStreamSynchronize(None), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
