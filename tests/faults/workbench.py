"""What a fault may use: commands, scripts, namespaces, and processes that stand in the way.

A fault is a folder with a `fault.py`: its first docstring line says what is wrong, and it has

    EXPECTED   ids of the catalogue that are right; the first is the best. None: a healthy job, of which nothing may be said
    HEALED_BY  the profile (or "port") with which the job comes through in the end; None where nothing can heal it
    command(bench) -> argv        what the user types behind safelaunch
    make(bench)                   optional: makes the fault; runs in a process of its own, so namespaces are free to use
    OPTIONS    optional: safelaunch's options; the deadlines are short unless it sets them
    VERB       optional: "doctor" where the fault is known before any launch
    NEEDS      optional: modules without which the fault is skipped
"""

import ctypes
import os
import pathlib
import subprocess
import sys

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "integration")]
import harness  # noqa: E402
from free_port import free_port  # noqa: E402, F401

DDP = harness.DDP
CLONE_NEWNS, CLONE_NEWNET = 0x00020000, 0x40000000
MS_REC_PRIVATE = (1 << 14) | (1 << 18)
# As torch starts a job: it is what most faults need, and nothing else.
INIT = "import os, sys, time, torch, torch.distributed as dist\ndist.init_process_group('gloo')\nRANK = dist.get_rank()\n"


class Impossible(Exception):
    """This machine cannot make the fault; the bench says why and goes on."""


class Bench:
    """The place of one fault: a folder, an environment, and what has to be undone."""

    def __init__(self, folder, environment):
        self.folder, self.env = pathlib.Path(folder), environment
        self.standing = []  # processes that are part of the fault
        self.options = []   # of safelaunch, that only the making tells

    def torchrun(self, script, *arguments, ranks=2, options=()):
        return harness.torchrun(f"--nproc_per_node={ranks}", *options, script, *arguments)

    def spawn(self, script, *arguments, ranks=2):
        """Our own workers: options of safelaunch, then the command."""
        return ["--nproc-per-node", str(ranks), "--", sys.executable, script, *arguments]

    def script(self, text, name="job.py"):
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o755)
        return str(path)

    def job(self, text):
        """A script that has its process group, and then does what the text says."""
        return self.script(INIT + text)

    def start(self, *words, ready=True, **options):
        """A process that belongs to the fault; it prints a line when it is in place."""
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stdin=subprocess.PIPE, **options)
        self.standing.append(process)
        if ready:
            process.stdout.readline()
        return process

    def python(self, text, **options):
        return self.start(sys.executable, "-c", text, **options)

    def clear(self):
        for process in self.standing:
            process.kill()
            process.communicate()

    # Namespaces: they are this process's own, and end with it.
    def own_network(self):
        if not harness.own_network():
            raise Impossible("no network namespace can be made here")

    def ip(self, *words):
        subprocess.run(["ip", *words], check=True)

    def own_mounts(self):
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(CLONE_NEWNS) != 0 or libc.mount(b"none", b"/", None, MS_REC_PRIVATE, None) != 0:
            raise Impossible("no mount namespace can be made here")

    def small_shm(self, size):
        self.own_mounts()
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mount(b"tmpfs", b"/dev/shm", b"tmpfs", 0, f"size={size}".encode()) != 0:
            raise Impossible("no tmpfs can be mounted on /dev/shm here")

    def replace_file(self, path, text):
        """Another content of one file, in our mount namespace alone."""
        own = self.script(text, pathlib.Path(path).name)
        if ctypes.CDLL(None, use_errno=True).mount(own.encode(), str(path).encode(), None, 4096, None) != 0:
            raise Impossible(f"{path} cannot be replaced here")

    def doubles(self, fault="", gpus=2, version="2.28.9"):
        """The doubles of libcuda, libnccl and libnvidia-ml (tests/doubles), told to fail."""
        folder = os.environ.get("SAFELAUNCH_DOUBLES")
        if not folder or not pathlib.Path(folder, "libnccl.so.2").exists():
            raise Impossible("the doubles of NVIDIA's libraries are not built")
        self.env.update(LD_LIBRARY_PATH=folder, SAFELAUNCH_DOUBLE_GPUS=str(gpus), SAFELAUNCH_DOUBLE_NCCL=version,
                        SAFELAUNCH_DOUBLE_FAULT=fault, CUDA_VISIBLE_DEVICES=",".join(map(str, range(gpus))))

    def nccl_worker(self, *arguments, ranks=2):
        """Workers that call NCCL and no torch."""
        worker = os.environ.get("SAFELAUNCH_NCCL_WORKER", "")
        if not pathlib.Path(worker).exists():
            raise Impossible("victim_nccl_worker is not built")
        return ["--nproc-per-node", str(ranks), "--", worker, *arguments]
