"""The real libnccl.so.2 that a tester names, each to be loaded over the doubles of CUDA's runtime, its driver and NVML.

SAFELAUNCH_TEST_NCCL holds their paths, with ':' between them; README.md tells what they must be. Nothing is tested here.
"""

import os
import pathlib
import subprocess
import sys

LIBRARIES = [path for path in os.environ.get("SAFELAUNCH_TEST_NCCL", "").split(":") if path]
ASK_VERSION = "import ctypes; v = ctypes.c_int(); ctypes.CDLL('libnccl.so.2').ncclGetVersion(ctypes.byref(v)); print(v.value)"


def why_not(doubles):
    """Why nothing can be tried, or nothing."""
    if not LIBRARIES:
        return "SAFELAUNCH_TEST_NCCL names no libnccl.so.2"
    if not pathlib.Path(doubles, "libcudart.so.13").exists():
        return "built without NVIDIA's headers of CUDA 13, so there is no double of its runtime"
    return None


class RealNccl:
    """One of them, in a folder where nothing else lies that could stand before the doubles."""

    def __init__(self, path, folder, doubles):
        folder.mkdir(parents=True)
        self.file = folder / "libnccl.so.2"
        self.file.symlink_to(pathlib.Path(path).resolve())
        # GPUs joined by PCIe alone: the switches of NVLink would have to lie in /sys.
        self.environment = {"LD_LIBRARY_PATH": f"{folder}:{doubles}", "SAFELAUNCH_DOUBLE_NVML": "pcie"}
        asked = subprocess.run([sys.executable, "-c", ASK_VERSION], env={**os.environ, **self.environment}, text=True,
                               capture_output=True)
        if asked.returncode != 0:
            raise AssertionError(f"{path} cannot be opened over the doubles:\n{asked.stderr}")
        code = int(asked.stdout)
        self.version = code // 10000, code // 100 % 100, code % 100
        self.name = "{}.{}.{}".format(*self.version)


def real_nccls(folder, doubles, since=(2, 0)):
    """All of them, from one release on."""
    every = [RealNccl(path, pathlib.Path(folder, f"nccl-{number}"), doubles) for number, path in enumerate(LIBRARIES)]
    return [library for library in every if library.version >= since]
