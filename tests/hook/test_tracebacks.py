"""What a program prints of its exceptions and warnings, with the hook and without: the same, byte for byte."""
import os
import re
import sys
import unittest

import harness
import torch_at_hand
from collector import Collector

# A function of the program, as the hook would wrap it; without the hook it is left as it is.
WRAP = """
import sys, traceback, warnings
try:
    from _safelaunch_hook.patching import wrapper
except ImportError:
    def wrap(function):
        return function
else:
    def wrap(function):
        return wrapper(function, lambda args, kwargs: (args, kwargs, None, None))

@wrap
def inner(text="inner"):
    raise ValueError(text)

@wrap
def outer():
    try:
        inner()
    except ValueError as error:
        raise KeyError("outer") from error
"""


def pythons():
    """Those named in SAFELAUNCH_TEST_PYTHONS, with colons between, and this one."""
    named = os.environ.get("SAFELAUNCH_TEST_PYTHONS", "").split(":")
    return [python for python in named if python] + [sys.executable]


def fake_torch(text):
    """A folder with a torch of one file."""
    path = harness.script(text, "__init__.py")
    package = os.path.join(os.path.dirname(path), "torch")
    os.mkdir(package)
    os.rename(path, os.path.join(package, "__init__.py"))
    return os.path.dirname(package)


def without_addresses(text):
    return re.sub(r"0x[0-9a-f]+|pid=\d+|:\d{5}\b", "", text)


class Comparison(harness.HookTest):
    def assert_the_same(self, text, python=sys.executable, behind="", **variables):
        """Runs the program with and without the hook. `behind` is a folder on its path."""
        path = harness.script(text)
        variables = dict(dict(RANK=0, LOCAL_RANK=0, WORLD_SIZE=1, MASTER_ADDR="127.0.0.1"), **variables)
        alone = harness.run([python, path], harness.environment(PYTHONPATH=behind, **variables))
        with Collector() as collector:
            env = harness.environment(collector, PYTHONPATH=harness.HOOK + ":" + behind, **variables)
            watched = harness.run([python, path], env)
            self.assert_no_fault(collector.drained())
            self.workers = collector.workers
        self.assertEqual(watched.code, alone.code, watched)
        self.assertEqual(without_addresses(watched.out), without_addresses(alone.out))
        self.assertEqual(without_addresses(watched.err), without_addresses(alone.err))
        self.assertNotIn("_safelaunch_hook", watched.out + watched.err)
        return watched


class Tracebacks(Comparison):
    def in_each_python(self, text, **more):
        for python in pythons():
            with self.subTest(python=python):
                result = self.assert_the_same(WRAP + text, python, **more)
                self.assertIn("Error", result.err)

    def test_an_exception_that_nobody_catches(self):
        self.in_each_python("outer()")

    def test_an_exception_that_is_caught_printed_and_raised_again(self):
        self.in_each_python("""
def work():
    try:
        outer()
    except KeyError:
        traceback.print_exc()
        raise
try:
    work()
except KeyError as error:
    print(len(traceback.extract_tb(error.__traceback__)), sys.getrefcount(error))
    kept = error
@wrap
def again():
    raise kept
again()
""")

    def test_an_exception_that_passes_a_generator_a_finally_and_a_with(self):
        self.in_each_python("""
import contextlib
@contextlib.contextmanager
def inside():
    try:
        yield
    finally:
        print("left", sys.exc_info()[0])
@wrap
def numbers():
    with inside():
        yield 1
        outer()
list(numbers())
""")

    def test_an_exception_of_another_thread(self):
        self.in_each_python("""
import threading
for function in (lambda: outer(), inner):
    thread = threading.Thread(target=function, name="mine")
    thread.start()
    thread.join()
""")

    def test_an_exception_whose_class_forbids_attributes(self):
        self.in_each_python("""
class FrozenError(Exception):
    def __setattr__(self, name, value):
        raise AttributeError("frozen")
@wrap
def work():
    raise FrozenError("as it was")
work()
""")

    def test_an_exception_without_a_frame_of_the_program(self):
        self.in_each_python("wrap(int)('no number')")

    def test_a_group_of_exceptions(self):
        self.in_each_python("""
def caught(function):
    try:
        function()
    except Exception as error:
        return error
@wrap
def work():
    raise ExceptionGroup("several", [caught(outer), caught(inner)])
if sys.version_info >= (3, 11):
    work()
else:
    print("Error", file=sys.stderr)
""")

    def test_the_object_is_the_programs_own_and_lets_go_of_its_frames(self):
        self.in_each_python("""
import gc, weakref
class Thing:
    pass
@wrap
def work(thing):
    raise ValueError(thing)
def once():
    thing = Thing()
    try:
        work(thing)
    except ValueError as error:
        assert error.args[0] is thing
        frames = [frame.f_code.co_name for frame, _ in traceback.walk_tb(error.__traceback__)]
        assert frames == ["once", "work"], frames
    return weakref.ref(thing)
gc.disable()
assert [one for one in [once() for _ in range(100)] if one() is not None] == []
print("Error", file=sys.stderr)
""")

    def test_a_post_mortem_of_pdb_walks_the_programs_frames_alone(self):
        self.in_each_python("""
import pdb
try:
    outer()
except KeyError:
    debugger = pdb.Pdb(nosigint=True, readrc=False) if sys.version_info >= (3, 6) else pdb.Pdb()
    debugger.rcLines = ["where", "up", "p 'Error'", "quit"]
    debugger.reset()
    try:
        debugger.interaction(None, sys.exc_info()[2])
    except Exception:
        pass
print("Error", file=sys.stderr)
""")

    def test_a_warning_names_the_line_that_it_names_without_the_hook(self):
        self.in_each_python("""
@wrap
def deprecated(level):
    warnings.warn("use another", DeprecationWarning, stacklevel=level)
def work():
    deprecated(2)
    deprecated(3)
warnings.simplefilter("always")
work()
inner()
""")

    def test_an_import_of_torch_that_fails(self):
        for failure in ("raise OSError('libcudart.so: cannot open')", "raise ImportError('no torch')",
                        "import warnings; warnings.warn('old', FutureWarning, stacklevel=2); 1 / 0"):
            broken = fake_torch(failure)
            for python in pythons():
                for statement in ("import torch", "import importlib\nimportlib.import_module('torch')", "__import__('torch')"):
                    with self.subTest(python=python, failure=failure, statement=statement):
                        self.assert_the_same(statement, python, broken)

    def test_an_import_that_a_finder_of_the_program_forbids(self):
        for python in pythons():
            with self.subTest(python=python):
                self.assert_the_same("""
                    import sys
                    class Forbidding:
                        def find_spec(self, name, path=None, target=None):
                            if name == "torch":
                                raise RuntimeError("no torch here")
                    sys.meta_path.insert(1, Forbidding())
                    import torch
                """, python)


class Excepthooks(Comparison):
    BACKPORT = """
import os, sys
def excepthook(kind, error, traceback):
    print("group:", error, file=sys.stderr)
    sys.stderr.flush()
    os._exit(7)
if sys.excepthook is sys.__excepthook__:
    sys.excepthook = excepthook
"""

    def backport(self):
        """A folder with a package that puts in an excepthook under the same condition as exceptiongroup does."""
        folder = os.path.join(os.path.dirname(harness.script("")), "exceptiongroup")
        os.mkdir(folder)
        for name, text in (("__init__.py", "from . import _formatting"), ("_formatting.py", self.BACKPORT)):
            with open(os.path.join(folder, name), "w") as file:
                file.write(text)
        return os.path.dirname(folder)

    def version_of(self, python):
        text = harness.run([python, "-c", "import sys; print(*sys.version_info[:2])"], harness.environment()).out
        return tuple(int(number) for number in text.split())

    def test_the_backport_of_exceptiongroup_prints_its_groups(self):
        for python in pythons():
            with self.subTest(python=python):
                result = self.assert_the_same("import exceptiongroup; raise ValueError('of two')", python, self.backport())
                self.assertEqual((result.code, result.err), (7, "group: of two\n"))

    def test_an_exception_is_reported_before_the_backport_prints_it(self):
        for python in pythons():
            with self.subTest(python=python):
                self.assert_the_same("import exceptiongroup; raise ValueError('of two')", python, self.backport())
                if self.version_of(python) < (3, 11):
                    self.assertEqual([event["err"] for event in self.workers[0].all("exception")], ["of two"])

    def test_a_python_prompt_of_the_programs_own_writes_the_exceptions_itself(self):
        for python in pythons():
            with self.subTest(python=python):
                self.assert_the_same("""
                    import code
                    class Prompt(code.InteractiveInterpreter):
                        def write(self, data):
                            print("mine:", data)
                    Prompt().runsource("1 / 0")
                """, python)

    def test_an_excepthook_that_fails_and_one_that_calls_pythons_own(self):
        for hook in ("lambda *args: 1 / 0", "lambda *args: sys.__excepthook__(*args)"):
            for python in pythons():
                with self.subTest(python=python, hook=hook):
                    self.assert_the_same("import sys; sys.excepthook = %s; [].x" % hook, python)
                    self.assertEqual(len(self.workers[0].all("exception")), 1)


@unittest.skipUnless(harness.importlib.util.find_spec("torch"), "this Python has no torch")
class TracebacksOfTorch(Comparison):
    def assert_the_same(self, text):
        return super().assert_the_same(text, MASTER_PORT=harness.free_port())

    @torch_at_hand.needs(torch_at_hand.a_build_without_nccl)
    def test_an_init_that_fails(self):
        self.assert_the_same("""
            import torch.distributed as dist
            dist.init_process_group("nccl")
        """)

    def test_an_init_that_fails_again_and_is_printed_by_the_program(self):
        self.assert_the_same("""
            import traceback
            import torch.distributed as dist
            for backend in ("gloo", "no such backend"):
                try:
                    dist.init_process_group(backend, rank=0, world_size=1, store="no store")
                except Exception:
                    traceback.print_exc()
            dist.init_process_group("gloo")
            dist.new_group([0, 7])
        """)

    def test_a_store_that_cannot_be_made(self):
        self.assert_the_same("""
            import torch.distributed as dist
            dist.TCPStore("127.0.0.1", "no port", 1, True)
        """)

    def test_a_first_collective_that_fails(self):
        result = self.assert_the_same("""
            import torch, torch.distributed as dist
            dist.init_process_group("gloo")
            def step():
                dist.all_gather_into_tensor(torch.ones(3), torch.ones(2))
            step()
        """)
        self.assertIn("in step", result.err)
        self.assertIsNotNone(self.workers[0].first("coll.failed"))

    def test_a_child_of_multiprocessing(self):
        for method in ("fork", "spawn", "forkserver"):
            with self.subTest(method):
                self.assert_the_same("""
                    import torch, multiprocessing
                    def work():
                        raise ValueError("from the child")
                    if __name__ == "__main__":
                        child = multiprocessing.get_context("%s").Process(target=work)
                        child.start()
                        child.join()
                """ % method)

    def test_a_rank_of_torchs_spawn(self):
        result = self.assert_the_same("""
            import warnings
            import torch.multiprocessing as mp
            def work(rank):
                warnings.warn("from the child", stacklevel=2)
                raise ValueError("from the child")
            if __name__ == "__main__":
                mp.spawn(work, nprocs=1)
        """)
        self.assertIn("in work", result.err)


@unittest.skipUnless(harness.importlib.util.find_spec("jax"), "this Python has no jax")
class TracebacksOfJax(Comparison):
    def test_an_init_that_fails_and_a_platform_that_does_not_exist(self):
        result = self.assert_the_same("""
            import traceback, jax
            for about in ({"process_id": "x", "num_processes": 2}, {"process_id": 2, "no_such_argument": 1}):
                try:
                    jax.distributed.initialize(coordinator_address="127.0.0.1:1", **about)
                except Exception:
                    traceback.print_exc()
            jax.config.update("jax_platforms", "nowhere")
            jax.devices()
        """, RANK=None, WORLD_SIZE=None)
        self.assertIn("nowhere", result.err)
        self.assertIsNotNone(self.workers[0].first("init.failed"))


if __name__ == "__main__":
    harness.main()
