"""CUDA graphs: what the hook's threads may ask while the program captures one."""
import sys
import threading
import types

import harness
from collector import PATIENCE, Collector

sys.path.insert(0, harness.HOOK)
from _safelaunch_hook import captures  # noqa: E402


class Graph:
    """A double of torch.cuda.CUDAGraph."""

    def capture_begin(self, fails=False):
        if fails:
            raise RuntimeError("no capture")
        return "begun"

    def capture_end(self):
        return "ended"


class Captures(harness.HookTest):
    @classmethod
    def setUpClass(cls):
        captures.watch(types.SimpleNamespace(version=types.SimpleNamespace(cuda="12.8", hip=None),
                                             cuda=types.SimpleNamespace(CUDAGraph=Graph)))

    def test_nothing_is_asked_while_a_graph_is_captured(self):
        graph = Graph()
        self.assertEqual(captures.ask(lambda: "answer"), "answer")
        self.assertEqual(graph.capture_begin(), "begun")
        self.assertIsNone(captures.ask(lambda: self.fail("asked")))
        self.assertEqual(graph.capture_end(), "ended")
        self.assertEqual(captures.ask(lambda: "answer"), "answer")

    def test_a_capture_that_does_not_begin_stops_no_question(self):
        with self.assertRaises(RuntimeError):
            Graph().capture_begin(fails=True)
        self.assertEqual(captures.ask(lambda: "answer"), "answer")

    def test_a_capture_begins_once_the_question_that_was_asked_is_answered(self):
        asked, may_answer, begun = threading.Event(), threading.Event(), threading.Event()

        def question():
            asked.set()
            return may_answer.wait(PATIENCE)

        def capture():
            graph = Graph()
            graph.capture_begin()
            begun.set()
            graph.capture_end()

        threads = [threading.Thread(target=captures.ask, args=(question,)), threading.Thread(target=capture)]
        threads[0].start()
        self.assertTrue(asked.wait(PATIENCE))
        threads[1].start()
        self.assertFalse(begun.wait(0.2))
        may_answer.set()
        self.assertTrue(begun.wait(PATIENCE))
        for thread in threads:
            thread.join()


class CapturesOfATorch(harness.HookTest):
    def setUp(self):
        if harness.importlib.util.find_spec("torch") is None:
            self.skipTest("no torch")

    def test_the_first_collective_is_not_asked_for_during_a_capture_and_told_afterwards(self):
        path = harness.script("""
            import os, time, torch, torch.distributed as dist
            class Graph:
                def capture_begin(self): pass
                def capture_end(self): pass
            torch.version.cuda, torch.cuda.CUDAGraph = "12.8", Graph
            asked, work = [], torch._C._distributed_c10d.Work
            original = work.is_completed
            def is_completed(self):
                asked.append(time.monotonic())
                return original(self)
            work.is_completed = is_completed
            dist.init_process_group("gloo")
            store = dist.distributed_c10d._get_default_store()
            if dist.get_rank() == 0:
                handle = dist.all_reduce(torch.ones(1), async_op=True)
                while len(asked) < 3:
                    time.sleep(0.01)
                graph = torch.cuda.CUDAGraph()
                graph.capture_begin()
                before = len(asked)
                time.sleep(0.5)
                assert len(asked) == before, asked
                graph.capture_end()
                store.set("captured", "1")
            else:
                store.wait(["captured"])
                handle = dist.all_reduce(torch.ones(1), async_op=True)
            handle.wait()
            dist.barrier()
            dist.destroy_process_group()
        """)
        with Collector() as collector:
            results = harness.run_ranks(path, harness.environment(collector))
            self.assert_ended_well(*results)
            self.assert_no_fault(collector.drained())
            self.assertIsNotNone(collector.ranks()[0].first("coll.done"))

    def test_a_first_collective_inside_a_capture_is_not_asked_for_before_the_replay(self):
        path = harness.script("""
            import torch, torch.distributed as dist
            class Graph:
                def capture_begin(self): pass
                def capture_end(self): pass
                def replay(self): pass
            torch.version.cuda, torch.cuda.CUDAGraph = "12.8", Graph
            dist.init_process_group("gloo")
            def is_completed(self):
                print("asked", flush=True)
                return True
            torch._C._distributed_c10d.Work.is_completed = is_completed
            graph, other, bare = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph(), Graph.replay
            graph.capture_begin()
            dist.all_reduce(torch.ones(1))
            dist.all_reduce(torch.ones(1))
            graph.capture_end()
            other.replay()
            print("replays", flush=True)
            graph.replay()
            graph.replay()
            assert Graph.replay is bare
            dist.barrier()
        """)
        with Collector() as collector:
            result, = harness.run_ranks(path, harness.environment(collector), ranks=1)
            self.assertEqual((result.code, result.out), (0, "replays\n"), result)
            self.assert_no_fault(collector.drained())
            told = [name for name in collector.ranks()[0].names() if name.startswith("coll.")]
            self.assertEqual(told, ["coll.enter", "coll.queued", "coll.enter", "coll.done"])

    def test_a_child_that_is_forked_while_its_parent_asks_can_ask(self):
        path = harness.script("""
            import os, sys, torch
            from _safelaunch_hook import captures
            captures._asking.acquire()
            if os.fork() == 0:
                os._exit(0 if captures.ask(lambda: True) else 7)
            sys.exit(os.wait()[1] >> 8)
        """)
        with Collector() as collector:
            result, = harness.run_ranks(path, harness.environment(collector), ranks=1)
            self.assertEqual((result.code, result.out), (0, ""), result)

    def test_a_collective_that_is_called_before_the_replay_is_the_first(self):
        path = harness.script("""
            import torch, torch.distributed as dist
            class Graph:
                def capture_begin(self): pass
                def capture_end(self): pass
                def replay(self): pass
            torch.version.cuda, torch.cuda.CUDAGraph = "12.8", Graph
            dist.init_process_group("gloo")
            graph, bare = torch.cuda.CUDAGraph(), Graph.replay
            graph.capture_begin()
            dist.all_reduce(torch.ones(1))
            graph.capture_end()
            dist.barrier()
            assert Graph.replay is bare
            graph.replay()
        """)
        with Collector() as collector:
            result, = harness.run_ranks(path, harness.environment(collector), ranks=1)
            self.assertEqual((result.code, result.out), (0, ""), result)
            self.assert_no_fault(collector.drained())
            told = [(event["e"], event["op"]) for event in collector.ranks()[0].events if event["e"].startswith("coll.")]
            self.assertEqual(told, [("coll.enter", "allreduce_"), ("coll.queued", "allreduce_"), ("coll.enter", "barrier"),
                                    ("coll.done", "barrier")])


if __name__ == "__main__":
    harness.main()
