"""Exceptions that end a rank: what is said of them, and that the program sees none of us."""
import signal
import sys

import harness
import torch_at_hand
from collector import Collector

sys.path.insert(0, harness.HOOK)
from _safelaunch_hook import exceptions  # noqa: E402

INIT = """
    import torch, torch.distributed as dist
    dist.init_process_group("gloo")
"""

# As SGLang's: whatever is raised is caught, and the first process kills all.
SGLANG = """
import pathlib, os, signal
folder = pathlib.Path(__file__).parent / "sglang/srt/managers"
folder.mkdir(parents=True)
(folder / "scheduler.py").write_text('''
import sys, traceback
def get_exception_traceback():
    return "".join(traceback.format_exception(*sys.exc_info()))
def run_scheduler_process():
    try:
        raise ValueError("no kernel")
    except Exception:
        print("Scheduler hit an exception: " + get_exception_traceback())
''')
from sglang.srt.managers import scheduler
scheduler.get_exception_traceback()  # of nothing
scheduler.run_scheduler_process()
os.kill(os.getpid(), signal.SIGKILL)
"""


class Uncaught(harness.HookTest):
    def run_one(self, text, **variables):
        with Collector() as collector:
            env = harness.environment(collector, RANK=0, LOCAL_RANK=0, WORLD_SIZE=1, MASTER_ADDR="127.0.0.1",
                                      MASTER_PORT=harness.free_port(), **variables)
            result = harness.python(harness.script(text), env)
            collector.drained()
            return result, collector.workers[0]

    def test_the_users_own_exception_is_not_of_communication(self):
        result, worker = self.run_one(INIT + """
    def train():
        raise ValueError("a bad \\N{SNOWMAN} batch")
    train()
""")
        self.assertEqual(result.code, 1)
        event = worker.first("exception")
        self.assertEqual((event["type"], event["err"], event["comm"]), ("ValueError", "a bad \u2603 batch", False))
        self.assertIn("in train", event["traceback"])
        self.assertEqual(worker.names()[-2:], ["exception", "exit"])
        self.assertIn("[rank0]: ValueError: a bad", result.err)
        self.assertNotIn("_safelaunch_hook", result.err)

    def test_stderr_is_what_it_is_without_the_hook(self):
        path = harness.script("def f(): 1/0\nf()")
        with Collector() as collector:
            watched = harness.python(path, harness.environment(collector))
        alone = harness.python(path, harness.environment(PYTHONPATH=None))
        self.assertEqual((watched.code, watched.out, watched.err), (alone.code, alone.out, alone.err))

    def test_an_exception_that_ends_a_thread_is_told_and_ends_nothing(self):
        result, worker = self.run_one("""
    import threading
    def train():
        raise ValueError("no data")
    thread = threading.Thread(target=train)
    thread.start()
    thread.join()
""")
        self.assertEqual(result.code, 0)
        told = worker.first("thread.raised")
        self.assertEqual((told["type"], told["err"]), ("ValueError", "no data"))
        self.assertRegex(told["frames"][-1], r"train\.py:\d+ train$")
        self.assertIn("ValueError: no data", result.err)
        self.assertNotIn("_safelaunch_hook", result.err)
        self.assertEqual(worker.all("exception"), [])

    def test_a_child_that_is_killed_is_told_and_one_that_is_ended_on_purpose_is_not(self):
        result, worker = self.run_one("""
    import multiprocessing, os, signal, time
    def work(number):
        os.kill(os.getpid(), number)
    if __name__ == "__main__":
        for number in (signal.SIGKILL, signal.SIGTERM):
            child = multiprocessing.get_context("fork").Process(target=work, args=(number,))
            child.start()
            child.join()
            print(child.pid, child.exitcode, flush=True)
""")
        self.assertEqual(result.code, 0)
        killed = int(result.out.split()[0])
        self.assertEqual([(one["pid"], one["status"]) for one in worker.all("child.died")], [(killed, -9)])

    def test_an_exit_status_is_no_exception_and_stays(self):
        result, worker = self.run_one("import sys; sys.exit(7)")
        self.assertEqual(result.code, 7)
        self.assertEqual(worker.names(), ["start", "exit"])

    def test_an_interrupt_is_no_exception_and_python_dies_of_its_signal(self):
        result, worker = self.run_one("import os, signal, time; os.kill(os.getpid(), signal.SIGINT); time.sleep(60)")
        self.assertEqual(result.code, -signal.SIGINT)
        self.assertEqual(worker.names(), ["start", "exit"])

    @torch_at_hand.needs(torch_at_hand.a_build_without_nccl)
    def test_a_missing_backend_is_of_communication(self):
        _, worker = self.run_one("""
            import torch.distributed as dist
            dist.init_process_group("nccl")
        """)
        event = worker.first("exception")
        self.assertIn("Distributed package doesn't have NCCL built in", event["err"])
        self.assertIs(event["comm"], True)
        self.assertIsNotNone(worker.first("pg.failed"))
        self.assertIsNotNone(worker.first("init.failed"))

    def test_a_peer_that_died_is_of_communication(self):
        path = harness.script(INIT + """
    import os
    store = dist.distributed_c10d._get_default_store()
    if dist.get_rank() == 1:
        store.wait(["in"])  # the other is through its init too
        os._exit(3)
    store.set("in", "1")
    dist.all_reduce(torch.ones(1))
""")
        with Collector() as collector:
            results = harness.run_ranks(path, harness.environment(collector))
            self.assertEqual([result.code for result in results], [1, 3])
            worker = collector.drained().ranks()[0]
            self.assertIs(worker.first("exception")["comm"], True)
            self.assertEqual(list(worker.first("exception")["groups"]), ["0"])
            self.assertIs(worker.first("coll.failed")["comm"], True)
            self.assertIsNone(worker.first("coll.done"))

    def test_a_collective_that_timed_out_is_told_as_not_finished(self):
        """gloo counts it among the completed; a message is none of them."""
        path = harness.script("""
    import datetime, os, torch, torch.distributed as dist
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=3))
    other, ones = 1 - dist.get_rank(), torch.ones(1)
    dist.all_reduce(ones)
    if os.environ["CALL"] == "recv":
        dist.recv(ones, src=other)
    try:
        dist.broadcast(ones, src=1) if other else dist.reduce(ones, dst=1)
    except RuntimeError as error:
        raise ValueError("this step has failed") from error
""")
        unfinished = ("enqueued", "started")  # torch's recorder may not have noted the start yet
        for call, last, states in (("collective", [["0", 2, "broadcast"], ["0", 2, "reduce"]], unfinished),
                                   ("recv", 2 * [["0", 1, "all_reduce"]], ("finished",))):
            with self.subTest(call), Collector() as collector:
                results = harness.run_ranks(path, harness.environment(collector), CALL=call)
                self.assertEqual([result.code for result in results], [1, 1])
                ranks = collector.drained().ranks()
                told = [ranks[rank].first("exception") for rank in (0, 1)]
                self.assertEqual([event["last"][-1][:-1] for event in told], last)
                self.assertTrue({event["last"][-1][-1] for event in told} <= set(states), told)
                self.assertTrue(all(event["frames"][0].endswith("<module>") for event in told), told)

    def test_an_exception_raised_because_of_communication_counts_as_such(self):
        _, worker = self.run_one("""
            try:
                raise RuntimeError("[gloo/transport/tcp/pair.cc:537] Read error")
            except RuntimeError as error:
                raise ValueError("training failed") from error
        """)
        self.assertIs(worker.first("exception")["comm"], True)

    def test_an_exception_that_led_to_itself_ends_the_program_as_it_does_alone(self):
        path = harness.script("""
            try:
                raise ValueError("a ring")
            except ValueError as error:
                raise error from error
        """)
        with Collector() as collector:
            watched = harness.finish(harness.start([sys.executable, path], harness.environment(collector)), timeout=60)
            self.assertEqual(collector.drained().workers[0].first("exception")["err"], "a ring")
        alone = harness.python(path, harness.environment(PYTHONPATH=None))
        self.assertEqual((watched.code, watched.err), (alone.code, alone.err))

    @torch_at_hand.needs(torch_at_hand.entry_points_of_backends)
    def test_an_excepthook_that_ends_the_process_leaves_the_event(self):
        folder = harness.os.path.dirname(harness.script("import os, sys; sys.excepthook = lambda *_: os._exit(7)",
                                                        "sitecustomize.py"))
        path = ":".join([folder, harness.HOOK, harness.TORCH_DOOR])
        result, worker = self.run_one("import torch\nraise ValueError('told')", PYTHONPATH=path)
        self.assertEqual((result.code, result.err), (7, ""))
        self.assertEqual([event["err"] for event in worker.all("exception")], ["told"])

    def test_a_spawned_rank_reports_although_spawn_catches(self):
        path = harness.script("""
            import torch.multiprocessing as mp
            def work(rank):
                raise ValueError("from the child")
            if __name__ == "__main__":
                mp.spawn(work, nprocs=1)
        """)
        with Collector() as collector:
            result = harness.python(path, harness.environment(collector))
            self.assertEqual(result.code, 1)
            errors = [event["err"] for worker in collector.drained().workers for event in worker.all("exception")]
            self.assertIn("from the child", errors)
            self.assertIn("ValueError: from the child", result.err)

    def test_a_plain_child_process_reports(self):
        path = harness.script("""
            import torch, multiprocessing
            def work():
                raise ValueError("from the child")
            if __name__ == "__main__":
                child = multiprocessing.get_context("fork").Process(target=work)
                child.start()
                child.join()
                assert child.exitcode == 1
        """)
        with Collector() as collector:
            result = harness.python(path, harness.environment(collector))
            self.assert_ended_well(result)
            self.assertIn("ValueError: from the child", result.err)
            errors = [event["err"] for worker in collector.drained().workers for event in worker.all("exception")]
            self.assertEqual(errors, ["from the child"])

    def test_an_exception_that_sglangs_scheduler_catches_ends_it_all_the_same(self):
        _, worker = self.run_one(SGLANG)
        told = worker.first("exception")
        self.assertEqual((told["type"], told["err"], worker.names().count("exception")), ("ValueError", "no kernel", 1))
        self.assertIn("in run_scheduler_process", told["traceback"])

    def test_a_programs_own_excepthook_runs_and_the_exception_is_reported(self):
        result, worker = self.run_one("""
            import sys
            sys.excepthook = lambda *args: print("my own", args[1], file=sys.stderr)
            raise ValueError("seen by both")
        """)
        self.assertEqual(result.err, "my own seen by both\n")
        self.assertEqual([event["err"] for event in worker.all("exception")], ["seen by both"])

    def test_a_wrapped_excepthook_reports_once(self):
        _, worker = self.run_one(INIT + """
    import sys
    inner = sys.excepthook
    sys.excepthook = lambda *args: inner(*args)
    raise ValueError("once")
""")
        self.assertEqual(len(worker.all("exception")), 1)

    def test_a_huge_exception_is_cut_and_keeps_its_last_line(self):
        _, worker = self.run_one('raise ValueError("\\N{SNOWMAN}" * 100000 + " the end")')
        self.assertTrue(worker.first("exception")["err"].endswith(" the end"))

    def test_wrong_arguments_give_torchs_own_error(self):
        result, _ = self.run_one("""
            import torch.distributed as dist
            dist.init_process_group("gloo", no_such_argument=1)
        """)
        self.assertIn("TypeError", result.err)
        self.assertIn("no_such_argument", result.err)


class Handled(harness.HookTest):
    """Which exception goes on to the caller when the place that handles it is through."""

    SHAPES = {
        "try:\n  fails()\nfinally:\n  here()": True,
        "try:\n  fails()\nfinally:\n  if True:\n    for i in range(1): here()": True,
        "with context(here):\n  fails()": True,
        "try:\n  fails()\nexcept KeyError:\n  here()\n  raise": True,
        "try:\n  fails()\nexcept KeyError as error:\n  here()\n  raise RuntimeError from error": True,
        "try:\n  fails()\nexcept KeyError:\n  here()": False,
        "try:\n  fails()\nexcept KeyError as error:\n  here()\nelse:\n  raise ValueError": False,
        "try:\n  fails()\nexcept:\n  while True:\n    here()\n    break": False,
        "try:\n  try:\n    fails()\n  except KeyError:\n    here()\nfinally:\n  print()": False,
        "def makes_up():\n  try:\n    fails()\n  except (KeyError, OSError):\n    return here()\nmakes_up()": False,
    }

    def test_only_what_no_except_makes_up_for_leaves(self):
        class context:
            def __init__(self, exit):
                self.exit = exit

            def __enter__(self):
                pass

            def __exit__(self, *_):
                self.exit()

        def fails():
            raise KeyError("labels")

        for shape, expected in self.SHAPES.items():
            with self.subTest(shape):
                seen = []
                names = {"fails": fails, "here": lambda: seen.append(exceptions.leaves(sys.exc_info()[1])), "context": context}
                try:
                    exec(compile(shape, "shape", "exec"), names)
                except (KeyError, RuntimeError):
                    pass
                self.assertEqual(seen, [expected])


class AtALook(harness.HookTest):
    """Of an exception that the program still handles, told by a thread of ours."""

    def test_nothing_of_the_program_runs(self):
        ran = []

        class OnDevice:
            def __str__(self):
                ran.append("str")
                return "tensor(nan)"

            __repr__ = __str__

        class Own(RuntimeError):
            __str__ = OnDevice.__str__

        for error, words in ((AssertionError(OnDevice()), ""), (Own("gloo: reset", 7), "gloo: reset, 7"),
                             (ValueError("loss is", OnDevice()), "loss is")):
            told = exceptions.fields_at_a_look(error)
            self.assertEqual((told["err"], ran), (words, []))
        self.assertTrue(exceptions.fields_at_a_look(Own("gloo: reset"))["comm"])

    def test_what_python_says_itself_is_told_as_python_says_it(self):
        for error in (KeyError("labels"), FileNotFoundError(2, "No such file", "/data"), RuntimeError("gloo: reset"), ValueError()):
            told, expected = exceptions.fields_at_a_look(error), exceptions.fields(error)
            self.assertEqual((told["err"], told["comm"]), (expected["err"], expected["comm"]))


class Communication(harness.HookTest):
    def test_texts_of_real_failures(self):
        for text in (
            "[../third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:78] Timed out waiting 5000ms for recv",
            "NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1970, unhandled system error",
            "Timed out after 6 seconds waiting for clients. 1/2 clients joined.",
            "The client socket has timed out after 5000ms while trying to connect to (127.0.0.1, 42899).",
            "Unable to initialize backend 'cpu': INTERNAL: Getting local topologies failed: Error 1: "
            "GetKeyValue() timed out with key: cpu:local_topology/cpu/1 and duration: 2m",
            "UNAVAILABLE: The following tasks are unhealthy; from the coordination service",
        ):
            self.assertTrue(exceptions.is_communication(RuntimeError(text)), text)

    def test_a_ring_of_exceptions_has_an_end(self):
        first, second = ValueError("the one"), ValueError("the other")
        first.__cause__, second.__context__ = second, first
        self.assertFalse(exceptions.is_communication(first))
        second.__context__ = RuntimeError("gloo: Connection reset by peer")
        self.assertTrue(exceptions.is_communication(first))

    def test_a_connection_of_the_scripts_own_is_not_of_communication(self):
        for error in (ConnectionRefusedError(111, "Connection refused"), BrokenPipeError(32, "Broken pipe"),
                      ConnectionResetError(104, "Connection reset by peer")):
            self.assertFalse(exceptions.is_communication(error), error)

    def test_a_connection_that_breaks_below_torchs_rendezvous_is_of_communication(self):
        call = compile("def rendezvous(connect): connect()", "torch/distributed/rendezvous.py", "exec")
        torch = {}
        exec(call, torch)

        def connect():
            raise ConnectionResetError(104, "Connection reset by peer")

        try:
            torch["rendezvous"](connect)
        except ConnectionResetError as error:
            self.assertTrue(exceptions.is_communication(error))
        else:
            self.fail("nothing was raised")

    def test_texts_of_other_failures(self):
        for error in (
            RuntimeError("CUDA out of memory. Tried to allocate 20.00 MiB"),
            RuntimeError("mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)"),
            FileNotFoundError("no such file: train.jsonl"),
            ValueError("trying to initialize the default process group twice!"),
            KeyboardInterrupt(),
        ):
            self.assertFalse(exceptions.is_communication(error), error)


if __name__ == "__main__":
    harness.main("torch")
