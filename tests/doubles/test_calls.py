"""The calls of the doubles of CUDA's driver, NVML and NCCL, one by one, as a program makes them.

SAFELAUNCH_DOUBLES names the folder with the libraries.
"""

import concurrent.futures
import ctypes
import itertools
import os
import struct
import subprocess
import threading
import unittest

DOUBLES = os.environ.get("SAFELAUNCH_DOUBLES", "")


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
