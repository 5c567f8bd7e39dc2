"""The doubles of CUDA's runtime and of the driver's virtual memory, which only a real NCCL needs."""

import ctypes
import mmap
import os
import unittest

from test_calls import DOUBLES, Knobs

RUNTIME = f"{DOUBLES}/libcudart.so.13"
MIB = 1 << 20


@unittest.skipUnless(os.path.exists(RUNTIME), "NVIDIA's headers are not those of CUDA 13")
class Runtime(Knobs):
    """Its state is the driver's."""

    INSUFFICIENT_DRIVER, INVALID_DEVICE = 35, 101

    def setUp(self):
        self.cuda = ctypes.CDLL(f"{DOUBLES}/libcuda.so.1")
        self.runtime = ctypes.CDLL(RUNTIME)
        self.assertEqual(self.runtime.cudaSetDevice(1), 0)
        self.addCleanup(self.runtime.cudaSetDevice, 0)

    def test_its_device_is_that_of_the_current_context(self):
        device = ctypes.c_int()
        self.assertEqual(self.cuda.cuCtxGetDevice(ctypes.byref(device)), 0)
        self.assertEqual(device.value, 1)

    def test_memory_holds_what_was_copied(self):
        memory, back = ctypes.c_void_p(), ctypes.create_string_buffer(8)
        self.assertEqual(self.runtime.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(8)), 0)
        self.runtime.cudaMemcpy(memory, b"abcdefgh", ctypes.c_size_t(8), 1)
        self.runtime.cudaMemcpy(back, memory, ctypes.c_size_t(8), 2)
        self.assertEqual(back.raw, b"abcdefgh")
        self.assertEqual(self.runtime.cudaFree(memory), 0)

    def test_an_error_is_told_once_more_and_then_forgotten(self):
        self.assertEqual(self.runtime.cudaSetDevice(7), self.INVALID_DEVICE)
        self.assertEqual(self.runtime.cudaGetLastError(), self.INVALID_DEVICE)
        self.assertEqual(self.runtime.cudaGetLastError(), 0)

    def test_a_driver_that_is_too_old_is_refused(self):
        self.knob("SAFELAUNCH_DOUBLE_CUDA", "old")
        self.assertEqual(self.runtime.cudaSetDevice(0), self.INSUFFICIENT_DRIVER)

    def test_the_drivers_functions_are_found_through_it(self):
        function, status = ctypes.c_void_p(), ctypes.c_int()
        for name, missing in (b"cuMemCreate", 0), (b"cuNoSuchThing", 1):
            self.runtime.cudaGetDriverEntryPointByVersion(name, ctypes.byref(function), 13000, ctypes.c_ulonglong(0),
                                                          ctypes.byref(status))
            self.assertEqual(status.value, missing)


class Properties(ctypes.Structure):
    """The beginning of a CUmemAllocationProp: pinned memory of a device, to be passed on as a file descriptor."""

    _fields_ = [("type", ctypes.c_int), ("handles", ctypes.c_int), ("place", ctypes.c_int), ("device", ctypes.c_int),
                ("rest", ctypes.c_char * 64)]


class VirtualMemory(unittest.TestCase):
    FILE_DESCRIPTOR, SIZE = 1, 2 * MIB

    def setUp(self):
        self.cuda = ctypes.CDLL(f"{DOUBLES}/libcuda.so.1")
        self.assertEqual(self.cuda.cuInit(0), 0)
        self.size = ctypes.c_size_t(self.SIZE)

    def make(self):
        handle, properties = ctypes.c_ulonglong(), Properties(1, self.FILE_DESCRIPTOR, 1, 0)
        self.assertEqual(self.cuda.cuMemCreate(ctypes.byref(handle), self.size, ctypes.byref(properties), ctypes.c_ulonglong(0)), 0)
        self.addCleanup(self.cuda.cuMemRelease, handle)
        return handle

    def map(self, handle):
        address, zero = ctypes.c_ulonglong(), ctypes.c_ulonglong(0)
        self.cuda.cuMemAddressReserve(ctypes.byref(address), self.size, ctypes.c_size_t(0), zero, zero)
        self.assertEqual(self.cuda.cuMemMap(address, self.size, ctypes.c_size_t(0), handle, zero), 0)
        self.addCleanup(self.cuda.cuMemAddressFree, address, self.size)
        self.addCleanup(self.cuda.cuMemUnmap, address, self.size)
        return address

    def test_what_one_process_writes_another_reads_through_a_file_descriptor(self):
        handle, shared = self.make(), ctypes.c_int()
        self.assertEqual(self.cuda.cuMemExportToShareableHandle(ctypes.byref(shared), handle, self.FILE_DESCRIPTOR,
                                                                ctypes.c_ulonglong(0)), 0)
        self.addCleanup(os.close, shared.value)
        ctypes.memmove(self.map(handle).value, b"abcdefgh", 8)
        with mmap.mmap(shared.value, self.SIZE) as elsewhere:
            self.assertEqual(elsewhere[:8], b"abcdefgh")

    def test_an_imported_handle_is_the_same_memory(self):
        handle, shared, imported = self.make(), ctypes.c_int(), ctypes.c_ulonglong()
        self.cuda.cuMemExportToShareableHandle(ctypes.byref(shared), handle, self.FILE_DESCRIPTOR, ctypes.c_ulonglong(0))
        self.addCleanup(os.close, shared.value)
        self.assertEqual(self.cuda.cuMemImportFromShareableHandle(ctypes.byref(imported), ctypes.c_void_p(shared.value),
                                                                  self.FILE_DESCRIPTOR), 0)
        self.addCleanup(self.cuda.cuMemRelease, imported)
        here, there = self.map(handle), self.map(imported)
        ctypes.memmove(here.value, b"abcdefgh", 8)
        self.assertEqual(ctypes.string_at(there.value, 8), b"abcdefgh")

    def test_an_address_leads_back_to_its_range(self):
        address, begin, size = self.map(self.make()), ctypes.c_ulonglong(), ctypes.c_size_t()
        inside = ctypes.c_ulonglong(address.value + 4096)
        self.assertEqual(self.cuda.cuMemGetAddressRange_v2(ctypes.byref(begin), ctypes.byref(size), inside), 0)
        self.assertEqual((begin.value, size.value), (address.value, self.SIZE))


if __name__ == "__main__":
    unittest.main(verbosity=2)
