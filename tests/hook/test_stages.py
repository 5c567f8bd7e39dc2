"""The stages of torch, under every way to start its ranks."""
import importlib.util
import textwrap
import unittest

import harness
from collector import Collector

TRAIN = """
    import torch, torch.distributed as dist
    dist.init_process_group("gloo")
    number = torch.ones(1)
    dist.all_reduce(number)
    assert number.item() == dist.get_world_size()
    dist.all_reduce(number)
    dist.destroy_process_group()
"""
STAGES = [
    "start", "imported", "init.enter", "store.enter", "store.exit", "pg.enter", "pg.exit", "group",
    "coll.enter", "coll.done", "exit",
]
SPAWN = """
    import os, sys
    import torch, torch.distributed as dist, torch.multiprocessing as mp
    def work(rank, port):
        dist.init_process_group("gloo", init_method="tcp://127.0.0.1:%d" % port, rank=rank, world_size=2)
        dist.barrier()
        dist.destroy_process_group()
    if __name__ == "__main__":
        mp.spawn(work, (int(sys.argv[1]),), nprocs=2)
"""
RPC = """
    import os
    import torch.distributed.rpc as rpc
    rpc.init_rpc("worker" + os.environ["RANK"], rank=int(os.environ["RANK"]), world_size=2)
    rpc.shutdown()
"""
RPC_IN_A_WORLD = """
    import torch.distributed as dist, torch.distributed.rpc as rpc
    dist.init_process_group("gloo")
    options = rpc.TensorPipeRpcBackendOptions(init_method="file://" + __file__ + ".store")
    rpc.init_rpc("worker%d" % dist.get_rank(), rank=dist.get_rank(), world_size=2, rpc_backend_options=options)
    dist.barrier()
    rpc.shutdown()
"""


class Stages(harness.HookTest):
    def test_plain_ranks_send_every_stage_in_order(self):
        with Collector() as collector:
            results = harness.run_ranks(harness.script(TRAIN), harness.environment(collector))
            self.assert_ended_well(*results)
            ranks = collector.drained().ranks()
            self.assertEqual(sorted(ranks), [0, 1])
            for worker in ranks.values():
                self.assertEqual(worker.names(), STAGES)
            self.assertEqual([result.err for result in results], ["", ""])

    def test_every_event_has_time_and_rank(self):
        with Collector(abstract=True) as collector:
            self.assert_ended_well(*harness.run_ranks(harness.script(TRAIN), harness.environment(collector)))
            for rank, worker in collector.drained().ranks().items():
                times = [event["t"] for event in worker.events[1:]]
                self.assertEqual(times, sorted(times))
                for event in worker.events[1:]:
                    self.assertEqual((event["rank"], event["world"], event["local_rank"]), (rank, 2, rank))

    def test_what_the_events_say(self):
        with Collector() as collector:
            self.assert_ended_well(*harness.run_ranks(harness.script(TRAIN), harness.environment(collector),
                                                      begin=harness.start_python))
            worker = collector.drained().ranks()[0]
            hello = worker.events[0]
            self.assertEqual(hello["argv"][1][-8:], "train.py")
            self.assertGreater(hello["ppid"], 0)
            entered = worker.first("init.enter")
            self.assertEqual((entered["backend"], entered["backend_used"]), ("gloo", "gloo"))
            self.assertEqual(worker.first("store.enter")["host"], "127.0.0.1")
            self.assertIs(worker.first("store.enter")["master"], True)
            self.assertEqual(worker.first("pg.enter")["group"], "0")
            self.assertEqual(worker.first("group")["backend"], "gloo")
            self.assertEqual(worker.first("coll.enter")["op"], "allreduce_")
            self.assertGreaterEqual(worker.first("coll.done")["ms"], 0)

    def test_a_store_of_the_programs_own_is_told_from_the_worlds(self):
        path = harness.script("""
            import os, torch.distributed as dist
            rank, port = int(os.environ["RANK"]), int(os.environ["MASTER_PORT"])
            own = dist.TCPStore("127.0.0.1", port, 2, rank == 0)
            dist.init_process_group("gloo", store=dist.PrefixStore("world", own), rank=rank, world_size=2)
            dist.barrier()
            dist.destroy_process_group()
        """)
        with Collector() as collector:
            self.assert_ended_well(*harness.run_ranks(path, harness.environment(collector)))
            for worker in collector.drained().ranks().values():
                self.assertEqual([event["init"] for event in worker.all("store.enter")], [False])
                self.assertEqual([event["init"] for event in worker.all("pg.enter")], [True])

    def test_the_worlds_store_is_made_inside_init(self):
        with Collector() as collector:
            self.assert_ended_well(*harness.run_ranks(harness.script(TRAIN), harness.environment(collector)))
            for worker in collector.drained().ranks().values():
                self.assertIs(worker.first("store.enter")["init"], True)
                self.assertIs(worker.first("store.exit")["init"], True)

    def test_a_world_tells_where_its_ranks_meet(self):
        path = harness.script("""
            import os, torch.distributed as dist
            os.environ.pop("TORCHELASTIC_USE_AGENT_STORE", None)
            rank, folder = int(os.environ["RANK"]), os.path.dirname(os.path.abspath(__file__))
            port = int(os.environ["MASTER_PORT"])
            for init_method in "env://", "tcp://127.0.0.1:%d" % port, "file://%s/init" % folder:
                dist.init_process_group("gloo", init_method=init_method, rank=rank, world_size=2)
                dist.barrier()
                dist.destroy_process_group()
            store = dist.PrefixStore("a", dist.FileStore(folder + "/store", 2))
            dist.init_process_group("gloo", store=store, rank=rank, world_size=2)
            dist.barrier()
        """)
        with Collector() as collector:
            env = harness.environment(collector)
            self.assert_ended_well(*harness.run_ranks(path, env))
            folder = harness.os.path.dirname(path)
            for worker in collector.drained().ranks().values():
                first, *others = [event["meets"] for event in worker.all("init.enter")]
                self.assertEqual(others, [first, "file:%s/init" % folder, "file:%s/store" % folder])

    def test_a_world_that_meets_nobody_says_nothing(self):
        path = harness.script(textwrap.dedent("""
            import os, torch, torch.distributed as dist
            from torch.testing._internal.distributed.fake_pg import FakeStore
            dist.init_process_group("fake", rank=3, world_size=8, store=FakeStore())
            dist.new_group([3, 4])
            dist.all_reduce(torch.ones(1))
            dist.destroy_process_group()
            dist.init_process_group("gloo", rank=0, world_size=1, store=dist.PrefixStore("a", dist.HashStore()))
            dist.destroy_process_group()
        """) + textwrap.dedent(TRAIN))
        with Collector() as collector:
            self.assert_ended_well(*harness.run_ranks(path, harness.environment(collector)))
            ranks = collector.drained().ranks()
            self.assertEqual(sorted(ranks), [0, 1])
            for rank, worker in ranks.items():
                self.assertEqual(worker.names(), STAGES)
                self.assertEqual({event["rank"] for event in worker.events[1:]}, {rank})
                self.assertEqual({event["world"] for event in worker.events[1:]}, {2})

    def test_the_second_world_of_a_process_has_a_number_of_its_own(self):
        path = harness.script(textwrap.dedent("""
            import os, torch.distributed as dist
            folder = os.path.dirname(os.path.abspath(__file__))
            dist.init_process_group("gloo", init_method="file://%s/%d" % (folder, os.getpid()), rank=0, world_size=1)
            dist.destroy_process_group()
        """) + textwrap.dedent(TRAIN))
        with Collector() as collector:
            self.assert_ended_well(*harness.run_ranks(path, harness.environment(collector)))
            said = [[(event["rank"], event["world"]) for event in worker.all("init.enter")] for worker in collector.drained().workers]
            self.assertEqual(sorted(said), [[(0, 1), (0, 2)], [(0, 1), (1, 2)]])

    def test_a_group_tells_who_is_in_it(self):
        with Collector() as collector:
            self.assert_ended_well(*harness.run_ranks(harness.script(TRAIN.replace(
                "    number =", "    dist.new_group([1])\n    number =")), harness.environment(collector)))
            for worker in collector.drained().ranks().values():
                self.assertEqual([(event["init"], event["members"]) for event in worker.all("pg.enter")],
                                 [(True, None), (False, [1])])

    def test_a_second_init_beside_the_first_changes_nothing(self):
        with Collector() as collector:
            self.assert_ended_well(*harness.run_ranks(harness.script(TRAIN.replace("    number =", """
    try:
        dist.init_process_group("gloo")
    except ValueError:
        pass
    number =""", 1)), harness.environment(collector)))
            for worker in collector.drained().ranks().values():
                self.assertEqual(worker.names(), STAGES)

    def test_lightnings_children_have_their_local_rank_for_their_rank(self):
        with Collector() as collector:
            process = harness.start([harness.sys.executable, "-c", "pass"], harness.environment(
                collector, RANK=None, LOCAL_RANK=1, NODE_RANK=0, WORLD_SIZE=2))
            self.assert_ended_well(harness.finish(process))
            start = collector.drained().workers[0].first("start")
            self.assertEqual((start["rank"], start["world"]), (1, 2))

    def test_the_world_of_rpc_has_its_stages_and_none_is_its_own_first_collective(self):
        """init_rpc makes its group in C++, past init_process_group; a server of parameters calls no collective."""
        with Collector() as collector:
            results = harness.run_ranks(harness.script(RPC), harness.environment(collector))
            self.assert_ended_well(*results)
            for worker in collector.drained().ranks().values():
                names = [name for name in worker.names() if not name.startswith("store.")]
                self.assertEqual(names, ["start", "imported", "init.enter", "group", "coll.enter", "coll.done", "exit"])
                enter = next(event for event in worker.events if event["e"] == "init.enter")
                self.assertEqual((enter["backend"], enter["world"]), ("tensorpipe", 2))
                self.assertRegex(enter["meets"], r"^127\.0\.0\.1:\d+$")

    def test_rpc_in_a_world_that_is_there_is_a_group_of_it(self):
        with Collector() as collector:
            results = harness.run_ranks(harness.script(RPC_IN_A_WORLD), harness.environment(collector))
            self.assert_ended_well(*results)
            for worker in collector.drained().ranks().values():
                entered = [event.get("group") for event in worker.events if event["e"] == "pg.enter"]
                self.assertEqual(entered[1:], ["init_rpc"])
                self.assertEqual(worker.names().count("init.enter"), 1)

    def test_torchrun(self):
        with Collector() as collector:
            self.assert_ended_well(harness.torchrun(harness.script(TRAIN), harness.environment(collector)))
            ranks = collector.drained().ranks()
            self.assertEqual([ranks[rank].names() for rank in (0, 1)], [STAGES, STAGES])
            agents = [worker for worker in collector.workers if not worker.first("init.enter")]
            self.assertTrue(any(worker.first("store.enter") for worker in agents))
            self.assert_no_fault(collector)

    def test_spawned_ranks_are_known_by_what_they_tell_init(self):
        with Collector() as collector:
            env = harness.environment(collector)
            self.assert_ended_well(harness.python(harness.script(SPAWN), env, str(harness.free_port())))
            ranks = collector.drained().ranks()
            self.assertEqual([ranks[rank].names() for rank in (0, 1)], [STAGES, STAGES])
            self.assert_no_fault(collector)

    def test_numbers_of_another_kind_are_told_as_numbers(self):
        path = harness.script("""
            import os
            class Number:  # as numpy.int64: no int, but it counts as one
                def __init__(self, text): self.value = int(text)
                def __index__(self): return self.value
            from _safelaunch_hook import channel
            channel.know_rank(rank=Number(os.environ["RANK"]), world=None, local_rank="none")
            channel.emit("store.enter", port=Number(29500), master=True)
        """)
        with Collector() as collector:
            self.assert_ended_well(*harness.run_ranks(path, harness.environment(collector)))
            event = next(worker.first("store.enter") for worker in collector.drained().workers
                         if worker.first("store.enter")["rank"] == 1)
            self.assertEqual((event["rank"], event["world"], event["local_rank"]), (1, 2, 1))
            self.assertEqual((event["port"], event["master"]), (29500, True))

    @unittest.skipUnless(importlib.util.find_spec("numpy"), "no numpy")
    def test_a_rank_of_numpys_type_is_a_rank(self):
        path = harness.script(TRAIN.replace("import torch,", "import numpy, os, torch,").replace('("gloo")', """(
        "gloo", rank=numpy.int64(os.environ["RANK"]), world_size=numpy.int64(2))"""))
        with Collector() as collector:
            self.assert_ended_well(*harness.run_ranks(path, harness.environment(collector)))
            ranks = collector.drained().ranks()
            self.assertEqual([ranks[rank].names() for rank in (0, 1)], [STAGES, STAGES])
            self.assertEqual([ranks[rank].first("init.enter")["rank"] for rank in (0, 1)], [0, 1])

    def test_a_forked_rank_has_its_own_connection(self):
        path = harness.script("""
            import multiprocessing, sys
            import torch, torch.distributed as dist
            def work(rank, port):
                dist.init_process_group("gloo", init_method="tcp://127.0.0.1:%d" % port, rank=rank, world_size=2)
                dist.barrier()
                dist.destroy_process_group()
            context = multiprocessing.get_context("fork")
            ranks = [context.Process(target=work, args=(rank, int(sys.argv[1]))) for rank in (0, 1)]
            [rank.start() for rank in ranks]
            [rank.join() for rank in ranks]
            assert [rank.exitcode for rank in ranks] == [0, 0]
        """)
        with Collector() as collector:
            self.assert_ended_well(harness.python(path, harness.environment(collector), str(harness.free_port())))
            ranks = collector.drained().ranks()
            self.assertEqual([ranks[rank].names() for rank in (0, 1)], [STAGES[2:], STAGES[2:]])
            self.assertEqual(len({worker.pid for worker in collector.workers}), len(collector.workers))

    def test_groups_of_a_device_mesh_are_seen(self):
        path = harness.script("""
            import torch, torch.distributed as dist
            from torch.distributed.device_mesh import init_device_mesh
            init_device_mesh("cpu", (2, 1))
            dist.barrier()
            dist.destroy_process_group()
        """)
        with Collector() as collector:
            self.assert_ended_well(*harness.run_ranks(path, harness.environment(collector)))
            worker = collector.drained().ranks()[0]
            self.assertIsNotNone(worker.first("group"))
            self.assertGreater(len(worker.all("pg.exit")), 1)

    def test_a_store_that_cannot_be_reached_is_named(self):
        path = harness.script("""
            import torch.distributed as dist
            from datetime import timedelta
            dist.init_process_group("gloo", timeout=timedelta(seconds=1))
        """)
        with Collector() as collector:
            rank, = harness.start_ranks(path, harness.environment(collector), only=[1])
            self.assertEqual(harness.finish(rank).code, 1)
            worker = collector.drained().ranks()[1]
            self.assertEqual(worker.first("store.failed")["type"], "torch.distributed.DistNetworkError")
            self.assertEqual(worker.first("init.failed")["type"], "torch.distributed.DistNetworkError")
            self.assertIn("timed out", worker.first("init.failed")["err"])
            self.assertIs(worker.first("init.failed")["comm"], True)
            self.assertIs(worker.first("exception")["comm"], True)


if __name__ == "__main__":
    harness.main("torch")
