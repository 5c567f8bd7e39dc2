"""Questions that safelaunch asks a worker: its stack, its counters."""
import itertools
import socket
import sys
import threading
import time
import unittest

import harness
import torch_at_hand
from collector import Collector, PATIENCE

# A torch whose import never ends, as on a file system that hangs.
HANGING_TORCH = """
    import time
    def never_ends():
        time.sleep(600)
    never_ends()
"""
# The question comes while Python imports threading, which has no table of its threads yet.
HANGS_IN_THREADINGS_IMPORT = """
    import sys, time, types
    sys.modules["threading"] = types.ModuleType("threading")
    def never_ends():
        time.sleep(600)
    never_ends()
"""
# A torch as 2.6 is, which has handlers but counts no waits.
TORCH_WITHOUT_WAIT_COUNTERS = """
    import sys, time, types
    def _get_handler(name):
        raise ValueError("Failed to find handler " + name)
    sys.modules["torch._C._distributed_c10d"] = types.SimpleNamespace(
        _Request=object, _Response=object, _get_handler=_get_handler)
    def never_ends():
        time.sleep(600)
    never_ends()
"""
SLEEPS_AFTER_TORCH = """
    import os, time
    import torch.distributed as dist
    def never_reaches_init():
        time.sleep(600)
    if os.environ["RANK"] == "1":
        never_reaches_init()
    dist.init_process_group("gloo")
"""
RECEIVES_TWICE = """
    import os, time, torch, torch.distributed as dist
    dist.init_process_group("gloo")
    dist.all_reduce(torch.ones(1))
    def first():
        dist.recv(torch.ones(1), 1)
    def second():
        dist.recv(torch.ones(1), 1)
    if dist.get_rank() == 0:
        first()
        second()
    while not os.path.exists(os.environ["GO"]):
        time.sleep(0.01)
    dist.send(torch.ones(1), 0)
    time.sleep(600)
"""
WAITS_FOR_TORCHS_LOCK = """
    import os, torch
    from torch.utils.file_baton import FileBaton
    lock = os.path.join(os.path.dirname(__file__), "a lock")
    open(lock, "w").close()
    FileBaton(lock).wait()
"""
WAITS_FOR_FILELOCK = """
    import fcntl, os, torch, filelock
    lock = os.path.join(os.path.dirname(__file__), "a lock")
    held = open(lock, "w")
    fcntl.flock(held, fcntl.LOCK_EX)
    with filelock.FileLock(lock):
        pass
"""
WAITS_IN_FINALLY = """
    import time, torch
    def cleans_up():
        time.sleep(600)
    def train():
        try:
            {}["labels"]
        finally:
            cleans_up()
    train()
"""
SLEEPS_IN_SPAWN = """
    import sys, time
    import torch.distributed as dist, torch.multiprocessing as mp
    def never_reaches_init(rank, port):
        time.sleep(600)
    if __name__ == "__main__":
        mp.spawn(never_reaches_init, (0,), nprocs=1)
"""
TRAINS = """
    import sys, torch, torch.distributed as dist
    dist.init_process_group("gloo")
    dist.all_reduce(torch.ones(1))
    def trains():
        print("ready", flush=True)
        sys.stdin.readline()
    trains()
    dist.destroy_process_group()
"""
ENDS_WHEN_TOLD = """
    import sys, torch
    print("ready", flush=True)
    sys.stdin.readline()
"""
LEAVES_CYCLES = """
    import gc, sys, threading, torch
    gc.set_threshold(700, 10, 10)  # Python's own
    main, elsewhere = threading.get_ident(), []
    class Cycle:
        def __init__(self):
            self.me = self
        def __del__(self):
            if threading.get_ident() != main:
                elsewhere.append(1)
    print("ready", flush=True)
    sys.stdin.readline()
    kept = [(number,) for number in range(10000)]  # so that no used tuple lies ready for a call of ours
    for _ in range(300000):
        Cycle()
    sys.exit(7 if elsewhere else 0)
"""
FORKS = """
    import gc, os, sys, torch
    print("ready", flush=True)
    sys.stdin.readline()
    for _ in range(20):
        if os.fork() == 0:
            os._exit(0 if gc.isenabled() else 7)
        if os.wait()[1] != 0:
            sys.exit(7)
"""
MANY_COLLECTIVES = TRAINS.replace("    dist.all_reduce", "    for _ in range(100): dist.all_reduce")


def frames(answer):
    return answer["threads"][0]["frames"]


class Answers(harness.HookTest):
    def stop(self, processes):
        for process in processes:
            process.kill()
            process.communicate()

    def stack_of_a_sleeper(self, text):
        with Collector() as collector:
            processes = harness.start_ranks(harness.script(text), harness.environment(collector))
            try:
                collector.wait_for_worker("store.enter", rank=0)
                worker = collector.wait_for_worker("start", rank=1)
                return self.ask_until(worker, "never_reaches_init")
            finally:
                self.stop(processes)

    def start_one_in_torchs_import(self, collector, torch=HANGING_TORCH):
        folder = harness.os.path.dirname(harness.script(torch, "torch.py"))
        env = harness.environment(collector, PYTHONPATH=harness.HOOK + ":" + folder)
        return harness.start_ranks(harness.script("import torch"), env, only=[0])

    def ask_until(self, worker, function):
        for number in harness.numbers_for():
            answer = worker.ask("stack", number)
            if frames(answer)[-1].endswith(function):
                return answer
        self.fail(answer)

    def test_a_rank_whose_import_of_torch_hangs_says_where(self):
        with Collector() as collector:
            processes = self.start_one_in_torchs_import(collector)
            try:
                answer = self.ask_until(collector.wait_for_worker("start"), "never_ends")
                self.assertEqual(answer["threads"][0]["name"], "MainThread")
                self.assertRegex(frames(answer)[-1], r"torch\.py:4 never_ends$")
                self.assertRegex(frames(answer)[0], r"train\.py:1 <module>$")
            finally:
                self.stop(processes)

    def test_a_rank_that_sleeps_after_it_has_imported_torch_says_where(self):
        answer = self.stack_of_a_sleeper(SLEEPS_AFTER_TORCH)
        self.assertRegex(frames(answer)[-1], r"train\.py:5 never_reaches_init$")
        self.assertRegex(frames(answer)[0], r"train\.py:7 <module>$")

    def test_a_spawned_rank_that_sleeps_before_init_says_where(self):
        with Collector() as collector:
            process = harness.start([harness.sys.executable, harness.script(SLEEPS_IN_SPAWN)],
                                    harness.environment(collector))
            try:
                parent = collector.wait_for_worker("imported")
                child = collector.news.wait_for(
                    lambda: next((worker for worker in collector.workers
                                  if worker is not parent and worker.first("imported")), None), PATIENCE, "a child")
                self.ask_until(child, "never_reaches_init")
            finally:
                harness.os.killpg(process.pid, 9)
                self.stop([process])

    @unittest.skipUnless(hasattr(sys, "_current_exceptions"), "Python tells of them from 3.10 on")
    def test_a_rank_that_waits_in_its_finally_says_which_exception_it_handles(self):
        with Collector() as collector:
            processes = harness.start_ranks(harness.script(WAITS_IN_FINALLY), harness.environment(collector), only=[0])
            try:
                answer = self.ask_until(collector.wait_for_worker("imported"), "cleans_up")
                handled = answer["handled"]
                self.assertEqual((handled["type"], handled["err"], handled["comm"]), ("KeyError", "'labels'", False))
                self.assertRegex(handled["frames"][-1], r"train\.py:\d+ train$")
                self.assertIn("KeyError: 'labels'", handled["traceback"])
                self.assertTrue(answer["leaves"])
            finally:
                self.stop(processes)

    def test_a_rank_that_handles_nothing_says_nothing(self):
        self.assertNotIn("handled", self.stack_of_a_sleeper(SLEEPS_AFTER_TORCH))

    def test_a_rank_that_waits_for_a_lock_file_says_which(self):
        for text, function in ((WAITS_FOR_TORCHS_LOCK, "wait"), (WAITS_FOR_FILELOCK, "acquire")):
            with self.subTest(function), Collector() as collector:
                path = harness.script(text)
                processes = harness.start_ranks(path, harness.environment(collector), only=[0])
                try:
                    worker = collector.wait_for_worker("imported")
                    shown = "%s(lock=%s/a\\040lock)" % (function, harness.os.path.dirname(path))
                    if not any(any(line.endswith(" " + shown) for line in frames(worker.ask("stack", number)))
                               for number in harness.numbers_for()):
                        self.fail(worker.ask("stack", 0))
                finally:
                    self.stop(processes)

    def test_a_rank_that_waits_in_the_store_shows_the_users_line_and_torchs(self):
        with Collector() as collector:
            processes = harness.start_ranks(harness.script(SLEEPS_AFTER_TORCH), harness.environment(collector), only=[0])
            try:
                worker = collector.wait_for_worker("store.enter")
                lines = frames(worker.ask("stack"))
                self.assertRegex(lines[0], r"train\.py:8 <module>$")
                self.assertTrue(any("rendezvous.py" in line for line in lines), lines)
            finally:
                self.stop(processes)

    @torch_at_hand.needs(torch_at_hand.wait_counters)
    def test_the_counters_name_the_wait(self):
        with Collector() as collector:
            processes = harness.start_ranks(harness.script(SLEEPS_AFTER_TORCH), harness.environment(collector), only=[0])
            try:
                worker = collector.wait_for_worker("store.enter")
                for number in harness.numbers_for():
                    answer = worker.ask("counters", number)
                    if answer["waits"].get("TCPStore__waitForWorkers") == 1:
                        break
                self.assertEqual(answer["waits"]["TCPStore__waitForWorkers"], 1)
                self.assertEqual(answer["groups"], {})
                self.assertEqual(worker.ask("counters", number + 1)["uncounted"], "meets")
            finally:
                self.stop(processes)

    def test_a_rank_stands_in_a_message_while_it_is_the_one_of_the_question_before(self):
        with Collector() as collector:
            script = harness.script(RECEIVES_TWICE)
            go = script + ".go"
            processes = harness.start_ranks(script, harness.environment(collector), GO=go)
            try:
                worker = collector.wait_for_worker("coll.done", rank=0)
                questions = itertools.count(1)

                def stands_twice(function):
                    for _ in harness.numbers_for():
                        lines = frames(worker.ask("stack", next(questions)))
                        theirs = [line for line in lines if "_safelaunch_hook" not in line]  # ours may be around a wait
                        if any(line.endswith(function) for line in lines) and theirs[-1].endswith(" recv"):
                            return [worker.ask("counters", next(questions))["uncounted"] for _ in range(2)]

                self.assertEqual(stands_twice(" first"), ["", "stands"])
                open(go, "w").close()
                self.assertEqual(stands_twice(" second"), ["", "stands"])
            finally:
                self.stop(processes)

    def test_counters_without_torch_are_empty(self):
        with Collector() as collector:
            processes = self.start_one_in_torchs_import(collector)
            try:
                answer = collector.wait_for_worker("start").ask("counters")
                self.assertEqual((answer["groups"], answer["waits"]), ({}, {}))
            finally:
                self.stop(processes)

    def test_a_torch_that_counts_no_waits_tells_its_groups_and_goes_on_answering(self):
        with Collector() as collector:
            processes = self.start_one_in_torchs_import(collector, TORCH_WITHOUT_WAIT_COUNTERS)
            try:
                worker = collector.wait_for_worker("start")
                self.ask_until(worker, "never_ends")
                answer = worker.ask("counters", 1)
                self.assertEqual((answer["groups"], answer["waits"]), ({}, {}))
                self.ask_until(worker, "never_ends")
                self.assert_no_fault(collector)
            finally:
                self.stop(processes)

    def test_a_question_that_fails_leaves_the_next_one_its_answer(self):
        with Collector() as collector:
            processes = self.start_one_in_torchs_import(collector)
            try:
                worker = collector.wait_for_worker("start")
                worker.connection.send(b"no question")
                self.ask_until(worker, "never_ends")
                self.assertEqual(worker.first("hook_error")["where"], "answers")
            finally:
                self.stop(processes)

    def test_a_rank_that_is_in_the_import_of_threading_says_where(self):
        with Collector() as collector:
            processes = self.start_one_in_torchs_import(collector, HANGS_IN_THREADINGS_IMPORT)
            try:
                worker = collector.wait_for_worker("start")
                self.ask_until(worker, "never_ends")
                self.assertEqual(worker.all("hook_error"), [])
            finally:
                self.stop(processes)

    def test_a_rank_that_knows_its_local_number_alone_says_where_it_is(self):
        with Collector() as collector:
            folder = harness.os.path.dirname(harness.script(HANGING_TORCH, "torch.py"))
            env = harness.environment(collector, PYTHONPATH=harness.HOOK + ":" + folder, RANK=None,
                                      LOCAL_RANK=1, NODE_RANK=0, WORLD_SIZE=2)  # as Lightning's children
            process = harness.start([harness.sys.executable, harness.script("import torch")], env)
            try:
                self.ask_until(collector.wait_for_worker("start"), "never_ends")
            finally:
                self.stop([process])

    @torch_at_hand.needs(torch_at_hand.recorder_of_gloos_collectives)
    def test_of_many_collectives_the_last_ones_are_told(self):
        with Collector() as collector:
            process = self.train_until_ready(collector, MANY_COLLECTIVES)
            try:
                last = collector.wait_for_worker("coll.done").ask("collectives")["last"]
                self.assertEqual([entry[1] for entry in last], [97, 98, 99, 100])
            finally:
                process.communicate("\n")

    @torch_at_hand.needs(torch_at_hand.recorder_of_gloos_collectives)
    def test_a_rank_tells_when_it_came_to_its_last_collectives_and_where_it_is(self):
        with Collector() as collector:
            began = time.time()
            process = self.train_until_ready(collector, MANY_COLLECTIVES.replace("range(100)", "range(130)"))
            try:
                answer = collector.wait_for_worker("coll.done").ask("arrivals")
                self.assertEqual([number for _, number, _ in answer["came"]], list(range(31, 131)))
                times = [at / 1e6 for _, _, at in answer["came"]]
                self.assertEqual(times, sorted(times))
                self.assertTrue(began <= times[0] and times[-1] <= time.time(), (began, times))
                self.assertEqual(sum(look["times"] for look in answer["looks"]), 10)
                self.assertIn("trains", max(answer["looks"], key=lambda look: look["times"])["frames"][-1])
            finally:
                process.communicate("\n")

    def test_a_signal_that_the_program_blocks_is_left_to_it(self):
        script = """
import os, signal, torch
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
os.kill(os.getpid(), signal.SIGUSR1)
assert signal.sigtimedwait({signal.SIGUSR1}, 20) is not None
"""
        with Collector() as collector:
            (process,) = harness.start_ranks(harness.script(script), harness.environment(collector), only=[0])
            process.communicate()
            self.assertEqual(process.returncode, 0)

    def test_collectives_without_torch_are_none(self):
        with Collector() as collector:
            processes = self.start_one_in_torchs_import(collector)
            try:
                answer = collector.wait_for_worker("start").ask("collectives")
                self.assertEqual((answer["last"], answer["members"]), ([], {}))
            finally:
                self.stop(processes)

    def train_until_ready(self, collector, script=TRAINS):
        env = harness.environment(collector, WORLD_SIZE=1, RANK=0, MASTER_ADDR="127.0.0.1",
                                  MASTER_PORT=harness.free_port())
        process = harness.subprocess.Popen([harness.sys.executable, harness.script(script)], env=env, text=True,
                                           stdin=harness.subprocess.PIPE, stdout=harness.subprocess.PIPE)
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    @torch_at_hand.needs(torch_at_hand.recorder_of_gloos_collectives)
    def test_a_rank_that_is_through_tells_its_collectives(self):
        with Collector() as collector:
            process = self.train_until_ready(collector)
            try:
                worker = collector.wait_for_worker("coll.done")
                # Torch marks a collective as finished a moment after its caller has gone on.
                for number in harness.numbers_for():
                    counters, answer = worker.ask("counters", number), worker.ask("collectives", number)
                    if counters["groups"]["0"]["completed"] == 1 and answer["last"][0][3] == "finished":
                        break
                self.assertEqual(counters["groups"], {"0": {"enqueued": 1, "started": -1, "completed": 1}})
                self.assertEqual(answer["last"], [["0", 1, "all_reduce", "finished"]])
                self.assertEqual(answer["members"], {"0": [0]})
            finally:
                process.communicate("\n")

    def test_a_rank_that_is_through_answers_until_it_is_told_that_nobody_asks_any_more(self):
        with Collector() as collector:
            process = self.train_until_ready(collector)
            try:
                worker = collector.wait_for_worker("coll.done")
                for number, question in enumerate(("counters", "collectives"), 1):
                    worker.ask(question, number)
                self.assertTrue(any("trains" in line for line in frames(worker.ask("stack"))))
                worker.connection.shutdown(socket.SHUT_WR)
                self.wait_until_no_thread_is_ours(process.pid)
            finally:
                process.communicate("\n")
            self.assertEqual(process.returncode, 0)
            self.assertEqual(collector.drained().workers[0].names()[-1], "exit")
            self.assert_no_fault(collector)

    def test_a_rank_that_ends_in_the_middle_of_an_answer_ends_well(self):
        for _ in range(3):
            self.assertEqual(self.status_while_asked(ENDS_WHEN_TOLD), 0)  # it aborts if the interpreter ends while a thread is inside torch

    def test_what_a_program_leaves_to_the_garbage_collection_is_finalized_in_no_thread_of_ours(self):
        self.assertEqual(self.status_while_asked(LEAVES_CYCLES), 0)

    def test_a_child_that_is_forked_in_the_middle_of_an_answer_collects_its_garbage(self):
        self.assertEqual(self.status_while_asked(FORKS), 0)

    def status_while_asked(self, script):
        with Collector() as collector:
            process = self.train_until_ready(collector, script)
            self.addCleanup(process.kill)
            worker = collector.wait_for_worker("imported")
            threading.Thread(target=self.asks_without_end, args=(worker,), daemon=True).start()
            worker.wait_for("counters")
            process.communicate("\n", timeout=PATIENCE)
            return process.returncode

    def asks_without_end(self, worker):
        try:
            while True:
                worker.connection.send(b'{"q": "counters", "id": 1}')
        except OSError:
            pass  # it has ended

    def wait_until_no_thread_is_ours(self, pid, seconds=30):
        end = time.monotonic() + seconds
        while "safelaunch" in self.thread_names(pid):
            self.assertLess(time.monotonic(), end, "the hook's thread lives on")

    def thread_names(self, pid):
        folder = "/proc/%d/task" % pid
        names = []
        for task in harness.os.listdir(folder):
            try:
                with open("%s/%s/comm" % (folder, task)) as file:
                    names.append(file.read().strip())
            except OSError:
                pass  # it has just ended
        return names

    def test_the_waiting_thread_has_its_name_and_does_not_wake(self):
        with Collector() as collector:
            processes = self.start_one_in_torchs_import(collector)
            try:
                worker = collector.wait_for_worker("start")
                worker.ask("stack", 1)
                pid = processes[0].pid
                self.assertIn("safelaunch", self.thread_names(pid))
                self.assertTrue(any(self.sleeps_for_a_second(pid) for _ in range(5)))
            finally:
                self.stop(processes)

    def sleeps_for_a_second(self, pid):
        """The first second may see it go to sleep after its answer; one that polls never passes."""
        before = self.switches(pid)
        threading.Event().wait(1)  # the subject: a second in which nothing is asked
        return self.switches(pid) == before

    def switches(self, pid):
        folder = "/proc/%d/task" % pid
        for task in harness.os.listdir(folder):
            with open("%s/%s/status" % (folder, task)) as file:
                text = file.read()
            if text.startswith("Name:\tsafelaunch"):
                return [line for line in text.splitlines() if "voluntary_ctxt" in line]
        self.fail("no thread named safelaunch")


if __name__ == "__main__":
    harness.main("torch")
