"""What a fault and a healthy program may use: commands, scripts, namespaces, and processes that stand in the way.

A fault is a folder of tests/faults with a `fault.py`: its first docstring line says what is wrong, and it has

    EXPECTED   ids of the catalogue that are right; the first is the best. None: the job comes through, and nothing is said
    SAYS       optional: patterns that the report on the screen has to have: the ranks, the place in the code
    HEALED_BY  the profile (or "port") with which the job comes through in the end; None where nothing can heal it
    command(bench) -> argv        what the user types behind safelaunch
    make(bench)                   optional: makes the fault; runs in a process of its own, so namespaces are free to use
    OPTIONS    optional: safelaunch's options; the deadlines are short unless it sets them
    VERB       optional: "doctor" where the fault is known before any launch
    NEEDS      optional: modules without which the fault is skipped

A healthy program is a folder of tests/healthy with a `program.py`: its first docstring line says what a careless watcher would
take for a hang or a death. It has `command`, and may have `make`, `OPTIONS` (longer deadlines, where its own way needs them), `NEEDS`, and

    LINES      optional: a pattern; only the lines of stdout that have it are compared, where a launcher prints times of its own
    bare       optional: the command without safelaunch, where that is another one
    PERSON     optional: (words, seconds, answer): so long after the words on stdout a person types the answer at its terminal
    INSIDE     optional: True where the command is a script that itself writes $SL in front of what it starts (bare: nothing)
    QUICK      optional: True where it is among the few that every run of the tests passes
    CUDA       optional: True where only a machine with GPUs has it (bench.py --cuda); a sentence, where it says nothing about one
"""

import contextlib
import ctypes
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "integration"), str(TESTS / "cuda")]
import harness  # noqa: E402
import over_doubles  # noqa: E402
from free_port import free_port  # noqa: E402, F401

DDP, BIN = harness.DDP, harness.BIN
BUILD = pathlib.Path(harness.SAFELAUNCH).parents[2]
NO_DOUBLES = ("there are no doubles of NVIDIA's libraries beside this safelaunch: build all, "
              "see tests/faults/README.md")
CLONE_NEWNS, CLONE_NEWNET = 0x00020000, 0x40000000
MS_REC_PRIVATE = (1 << 14) | (1 << 18)
# As torch starts a job: it is what most faults need, and nothing else.
INIT = "import os, sys, time, torch, torch.distributed as dist\ndist.init_process_group('gloo')\nRANK = dist.get_rank()\n"

STEPS = """
def steps(count, group=None):
    for _ in range(count): dist.all_reduce(torch.ones(4), group=group); time.sleep(0.02)
def sleeps(): time.sleep(100000)
steps(20)
"""

CUDA = False  # --cuda: the ranks have GPUs, which are doubles, and talk by NCCL
PTY = False   # --pty: each program has a terminal of its own for stdin, stdout and stderr
GPUS = 4

# What healthy programs share. They have their rank, their backend and their device, work for some time, say a line in one piece, leave
# a note for others, come late (they work until another waits for them, and then for longer than the deadlines) ...
START = """
import os, sys, time
HERE, RANK, WORLD = os.getcwd(), int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
BACKEND = os.environ.get("BENCH_BACKEND", "gloo")
if "ONE_GPU" in os.environ:  # the folder of one_gpu.py, where all ranks share one GPU
    sys.path.append(os.environ["ONE_GPU"])
    import one_gpu
def own_device():
    if BACKEND == "gloo": return "cpu"
    import torch
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    return "cuda"
def work(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end: sum(range(10000))
def say(text):
    sys.stdout.write(text + "\\n")
    sys.stdout.flush()
def note(name, value=""):
    path = os.path.join(HERE, name)
    with open(path + ".new", "w") as file: file.write(str(value))
    os.rename(path + ".new", path)
def late(seconds=10):
    while not any(name.startswith("waits") for name in os.listdir(HERE)): work(0.1)
    work(seconds)
"""
# ... and meet in the end.
MEET = """
import torch, torch.distributed as dist
note(f"waits{RANK}")
device = own_device()
dist.init_process_group(BACKEND)
total = torch.ones(1).to(device)
dist.all_reduce(total)
dist.barrier()
say(f"rank {dist.get_rank()} of {dist.get_world_size()}: {int(total)}")
dist.destroy_process_group()
"""

# Where all have GPUs, their programs begin and end so. The device can be busy for some time: a function of the host stands on its stream.
ON_GPUS = """
import ctypes, torch, torch.distributed as dist
def busy(seconds):
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
    usleep = ctypes.cast(ctypes.CDLL(None).usleep, ctypes.c_void_p)
    runtime = next(line.split()[-1] for line in open("/proc/self/maps") if "/libcudart.so" in line)
    assert ctypes.CDLL(runtime).cudaLaunchHostFunc(stream, usleep, ctypes.c_void_p(int(seconds * 1e6))) == 0
def ones(): return torch.ones(1).to(device)
device = own_device()
note(f"waits{RANK}")
"""
WORLD = ON_GPUS + "dist.init_process_group(BACKEND)\n"
LEAVE = """
total = ones()
dist.all_reduce(total)
say(f"rank {RANK} of {WORLD}: {int(total)}")
dist.destroy_process_group()
"""


def indent(text):
    """The text as a function's body."""
    return textwrap.indent(text, "    ")


# Somebody outside the job waits for the ranks' notes.
OPERATOR = """
import os, signal, subprocess, time
def wait_for(name):
    while not os.path.exists(name): time.sleep(0.05)
    return open(name).read()
print("there", flush=True)
"""


class Impossible(Exception):
    """This machine cannot make the fault; the bench says why and goes on."""


class Bench:
    """The place of one fault: a folder, an environment, and what has to be undone."""

    def __init__(self, folder, environment):
        self.folder, self.env = pathlib.Path(folder), environment
        self.record = self.folder.parent  # of the bench itself; the job looks elsewhere
        self.standing = []  # processes that are part of the fault
        self.options = []   # of safelaunch, that only the making tells
        self.undo = []      # what has to be called in the end

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

    def stands_still(self, text, options=()):
        """A training of twenty steps, and then of what the text says; safelaunch ends it where it stands still for four seconds."""
        self.options += ["--profile", self.script(
            "name: trains\nextends: basic\non_stall: kill\ntimeouts: {stall: 4s}\n", name="trains.yaml")]
        return self.torchrun(self.job(STEPS + text), options=options)

    def program(self, text, end=MEET, name="job.py"):
        """A script of a healthy program: what all have, the text, and then their meeting."""
        return self.script(START + text + end, name)

    def train(self, text="", end=MEET, ranks=2, options=()):
        """The usual healthy program: torchrun runs the text, then all ranks meet."""
        return self.torchrun(self.program(text, end), ranks=ranks, options=[f"--master_port={free_port()}", *options])

    def on_gpus(self, text, before="", begin=WORLD, end=LEAVE, ranks=2, options=()):
        """torchrun runs the text in a world of NCCL; `before` is what the ranks do until they make it."""
        return self.torchrun(self.script(START + before + begin + text + end), ranks=ranks,
                             options=[f"--master_port={free_port()}", *options])

    def shell(self, text, name="run.sh"):
        return ["/bin/bash", self.script("set -e\n" + text, name)]

    def around(self, text):
        """A script that writes $SL in front of what it starts: the program is INSIDE."""
        return ["/bin/bash", self.script(text, "run.sh")]

    def start(self, *words, ready=True, **options):
        """A process that belongs to the fault; it prints a line when it is in place."""
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stdin=subprocess.PIPE, **options)
        self.standing.append(process)
        if ready:
            process.stdout.readline()
        return process

    def operator(self, text):
        """Somebody outside the job, who acts on its processes."""
        self.python(OPERATOR + text, cwd=self.folder, env=self.env)

    def python(self, text, **options):
        return self.start(sys.executable, "-c", text, **options)

    def left_behind(self):
        """The job's processes that are alive after its end; those that stand in its way are none of them."""
        standing = {process.pid for process in self.standing}
        left = [pid for pid in harness.processes_with(self.env["SAFELAUNCH_TEST_MARK"]) if pid not in standing]
        return [f"{len(left)} processes left behind"] if left else []

    def clear(self):
        for process in self.standing:
            process.kill()
            process.communicate()
        for undo in self.undo:
            undo()

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
        folder = os.path.abspath(os.environ.get("SAFELAUNCH_DOUBLES", BUILD / "tests/doubles/lib"))
        if not pathlib.Path(folder, "libnccl.so.2").exists():
            raise Impossible(NO_DOUBLES)
        self.env.update(LD_LIBRARY_PATH=folder, SAFELAUNCH_DOUBLE_GPUS=str(gpus), SAFELAUNCH_DOUBLE_NCCL=version,
                        SAFELAUNCH_DOUBLE_FAULT=fault, CUDA_VISIBLE_DEVICES=",".join(map(str, range(gpus))))

    def nccl_worker(self, *arguments, ranks=2):
        """Workers that call NCCL and no torch."""
        worker = os.path.abspath(os.environ.get("SAFELAUNCH_NCCL_WORKER", BUILD / "tests/victim_nccl_worker"))
        if not pathlib.Path(worker).exists():
            raise Impossible(NO_DOUBLES)
        return ["--nproc-per-node", str(ranks), "--", worker, *arguments]


def environment_of(folder, mark):
    keep = {name: value for name, value in os.environ.items()
            if not name.startswith(("SAFELAUNCH_", "PET_", "NCCL_", "MASTER_", "GLOO_"))}
    device = {**over_doubles.over_doubles(gpus=GPUS), "BENCH_BACKEND": "nccl"} if CUDA else {"DS_ACCELERATOR": "cpu"}
    return {**keep, "PATH": f"{harness.BIN}:{keep.get('PATH', '')}", "XDG_STATE_HOME": f"{folder}/state", "OMP_NUM_THREADS": "1",
            "TORCH_EXTENSIONS_DIR": harness.kept_extensions(), "SAFELAUNCH_TEST_MARK": mark, **device}


@contextlib.contextmanager
def place(mark):
    """A bench in a folder of its own, which is gone afterwards; all its processes carry the mark."""
    with tempfile.TemporaryDirectory(prefix="safelaunch-bench-") as folder:
        bench = Bench(f"{folder}/job", environment_of(folder, mark))
        bench.folder.mkdir()
        yield bench
