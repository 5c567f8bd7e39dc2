"""Runs Python programs under the hook, as safelaunch would: plain, by torchrun, by mp.spawn."""
import atexit
import importlib.util
import itertools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

from collector import PATIENCE, TOKEN

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from compiled_extensions import kept_extensions  # noqa: E402, F401
from free_port import free_port  # noqa: E402
import warm  # noqa: E402

SOURCE = os.path.join(HERE, "..", "..", "launcher", "hook")
SKIPPED = 77  # ctest's SKIP_RETURN_CODE

_folder = tempfile.mkdtemp(prefix="hook-test-")
atexit.register(shutil.rmtree, _folder, True)
HOOK = os.path.join(_folder, "hook")
shutil.copytree(SOURCE, HOOK, ignore=shutil.ignore_patterns("__pycache__", "*.cc", "CMakeLists.txt"))

TORCH_DOOR = os.path.join(HOOK, "torch_door")


def environment(collector=None, **variables):
    """What safelaunch gives to a command. A variable that is None is taken away."""
    result = {name: value for name, value in os.environ.items() if not name.startswith("SAFELAUNCH_")}
    result["PYTHONPATH"] = HOOK + ":" + TORCH_DOOR
    result["OMP_NUM_THREADS"] = "1"
    result["PYTHONFAULTHANDLER"] = "1"  # finish() asks one that hangs for its stacks
    if collector is not None:
        result.update(SAFELAUNCH_HOOK=collector.name, SAFELAUNCH_HOOK_TOKEN=TOKEN)
    for name, value in variables.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = str(value)
    return result


def script(text, name="train.py"):
    """Writes a program and returns its path."""
    path = os.path.join(tempfile.mkdtemp(dir=_folder), name)
    with open(path, "w") as file:
        file.write(textwrap.dedent(text))
    return path


class Result:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def __repr__(self):
        return "exit %s\n--- stdout\n%s\n--- stderr\n%s" % (self.code, self.out, self.err[-6000:])


def start(command, env):
    """In a process group of its own, so that finish() reaches a launcher's ranks too."""
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            start_new_session=True)


def finish(process, timeout=PATIENCE):
    return finish_all([process], timeout)[0]


def finish_all(processes, timeout=PATIENCE):
    """Waits for all; where one hangs, the failure shows what each has said, and the stacks of those
    that still run."""
    deadline, late = time.monotonic() + timeout, False
    results = []
    for process in processes:
        try:
            out, err = process.communicate(timeout=max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            late = True
            os.killpg(process.pid, signal.SIGABRT)
            out, err = process.communicate()
        results.append(Result(process.returncode, out, err))
    if late:
        raise AssertionError("still running after %s s: %r" % (timeout, results))
    return results


def run(command, env, timeout=PATIENCE):
    return finish(start(command, env), timeout)


def python(path, env, *arguments):
    return run([sys.executable, path] + list(arguments), env)


def torchrun(path, env, ranks=2):
    command = [sys.executable, "-m", "torch.distributed.run", "--master_port=%d" % free_port(),
               "--nproc_per_node=%d" % ranks, path]
    return run(command, env)


def start_python(path, env):
    return start([sys.executable, path], env)


def start_ranks(path, env, ranks=2, only=None, begin=start_python, **variables):
    """Plain python, once for each rank, with the environment that a launcher would set."""
    port = free_port()
    processes = []
    for rank in range(ranks) if only is None else only:
        one = dict(env, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(ranks),
                   MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), **variables)
        processes.append(begin(path, one))
    return processes


def run_ranks(path, env, ranks=2, timeout=PATIENCE, begin=warm.Rank, **variables):
    return finish_all(start_ranks(path, env, ranks, begin=begin, **variables), timeout)


def numbers_for(seconds=PATIENCE):
    """1, 2, 3, ... until so long has passed: the numbers of questions that are asked again."""
    end = time.monotonic() + seconds
    for number in itertools.count(1):
        yield number
        if time.monotonic() > end:
            return


class HookTest(unittest.TestCase):
    longMessage = True

    def assert_ended_well(self, *results):
        for result in results:
            self.assertEqual(result.code, 0, result)

    def assert_no_fault(self, collector):
        faults = [event for worker in collector.workers for event in worker.all("hook_error")]
        self.assertEqual(faults, [])


def main(*needed):
    """Runs the calling file's tests; it is skipped where a module they need is missing."""
    for name in needed:
        if importlib.util.find_spec(name) is None:
            print("skipped: %s has no %s" % (sys.executable, name))
            sys.exit(SKIPPED)
    unittest.main()
