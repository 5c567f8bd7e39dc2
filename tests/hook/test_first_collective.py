"""The first collective: whoever calls it, from Python or from C++, and what is left afterwards."""
import harness
import torch_at_hand
from collector import Collector

INIT = """
    import os, torch, torch.distributed as dist
    dist.init_process_group("gloo")
    rank = dist.get_rank()
"""
END = """
    dist.destroy_process_group()
"""
OLD_TORCH = """
    import torch.library
    def impl(self, op_name, fn, dispatch_key=""):
        raise AssertionError("not called")
    torch.library.Library.impl = impl
"""


class FirstCollective(harness.HookTest):
    def first(self, text, before=""):
        """Runs the text on two ranks; their first collective's operation."""
        with Collector() as collector:
            self.assert_ended_well(*harness.run_ranks(harness.script(before + INIT + text + END),
                                                      harness.environment(collector)))
            ranks = collector.drained().ranks()
            self.assert_no_fault(collector)
            for worker in ranks.values():
                for name in ("coll.enter", "coll.done"):
                    self.assertEqual(len(worker.all(name)), 1, (name, worker.names()))
            return [ranks[rank].first("coll.done")["op"] for rank in (0, 1)]

    def test_the_exit_says_how_many_were_finished_in_all_groups(self):
        # One in each: gloo's two threads each note what they have finished, and of several collectives of one
        # group the older may be noted last.
        text = """
    for group in [None] + [dist.new_group() for _ in range(3)]: dist.all_reduce(torch.ones(1), group=group)
    del group
"""
        with Collector() as collector:
            self.assert_ended_well(*harness.run_ranks(harness.script(INIT + text + END), harness.environment(collector)))
            ranks = collector.drained().ranks()
            self.assert_no_fault(collector)
            for worker in ranks.values():
                self.assertGreaterEqual(worker.first("exit")["collectives"], 4)

    def test_of_python(self):
        self.assertEqual(self.first("""
    dist.broadcast(torch.ones(1), 0)
    dist.all_reduce(torch.ones(1))
"""), ["broadcast_", "broadcast_"])

    def test_of_many_threads_at_once(self):
        """What stands before the calls is not freed under a thread that is inside. (The C library overwrites what is freed.)"""
        with Collector() as collector:
            self.assert_ended_well(harness.python(harness.script("""
    import threading, torch, torch.distributed as dist
    failed = []
    threading.excepthook = failed.append
    def work(group, together):
        number = torch.ones(4)
        together.wait()
        for _ in range(3): dist.all_reduce(number, group=group)
    for _ in range(150):
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        together = threading.Barrier(8)
        threads = [threading.Thread(target=work, args=(dist.new_group([0]), together)) for _ in range(8)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        dist.destroy_process_group()
    assert not failed, failed[0]
"""), harness.environment(collector, MALLOC_PERTURB_="165")))
            self.assert_no_fault(collector.drained())

    def test_tensors_without_values_meet_nobody(self):
        self.assertEqual(self.first("""
    from torch._subclasses.fake_tensor import FakeTensorMode
    with FakeTensorMode(): dist.all_reduce(torch.ones(1))
    dist.broadcast(torch.ones(1), 0)
"""), ["broadcast_"] * 2)

    def test_asynchronous(self):
        self.assertEqual(self.first("""
    work = dist.all_reduce(torch.ones(1), async_op=True)
    work.wait()
"""), ["allreduce_"] * 2)

    def test_a_barrier(self):
        self.assertEqual(self.first("    dist.barrier()"), ["barrier"] * 2)

    def test_a_monitored_barrier_which_returns_nothing(self):
        self.assertEqual(self.first("    dist.monitored_barrier()"), ["monitored_barrier_"] * 2)

    def test_objects(self):
        self.assertEqual(self.first("""
    out = [None, None]
    dist.all_gather_object(out, {"rank": rank})
    assert [each["rank"] for each in out] == [0, 1]
"""), ["allgather_"] * 2)

    def test_send_and_receive(self):
        self.assertEqual(self.first("""
    number = torch.full((1,), float(rank))
    dist.send(number, 1) if rank == 0 else dist.recv(number, 0)
    assert number.item() == 0
    dist.barrier()
"""), ["send", "recv_"])

    def calls(self, text):
        """What two ranks tell of their first calls."""
        with Collector() as collector:
            self.assert_ended_well(*harness.run_ranks(harness.script(INIT + text + END), harness.environment(collector)))
            ranks = collector.drained().ranks()
            self.assert_no_fault(collector)
            told = [ranks[rank].first("coll.enter") for rank in (0, 1)]
            return [{key: one.get(key) for key in ("op", "group", "members", "peer", "tag", "blocks")} for one in told]

    def test_a_message_tells_its_other_end_and_whether_its_caller_waits(self):
        sends, receives = self.calls("""
    number = torch.ones(1)
    dist.send(number, 1) if rank == 0 else dist.irecv(number, 0).wait()
""")
        self.assertEqual(sends, {"op": "send", "group": "0", "members": None, "peer": 1, "tag": None, "blocks": True})
        self.assertEqual(receives, {"op": "recv_", "group": "0", "members": None, "peer": 0, "tag": None, "blocks": False})

    def test_of_a_group_over_a_store_of_its_own_nobody_but_the_caller_is_known(self):
        """As verl and OpenRLHF make it, with processes from outside of the world: its numbers are no ranks."""
        told = self.calls(f"""
    from torch.distributed import distributed_c10d as c10d
    store = c10d.PrefixStore("weights", dist.TCPStore("127.0.0.1", {harness.free_port()}, 2, rank == 0))
    group, _ = c10d._new_process_group_helper(2, rank, [], "gloo", store, group_name="weights", timeout=c10d.default_pg_timeout)
    c10d._world.pg_group_ranks[group] = {{0: 0, 1: 1}}
    dist.broadcast(torch.ones(1), 0, group=group)
""")
        self.assertEqual([(one["group"], one["members"]) for one in told], [("weights", [0]), ("weights", [1])])

    def test_a_message_tells_its_tag(self):
        for told in self.calls("""
    number = torch.ones(1)
    dist.send(number, 1, tag=7) if rank == 0 else dist.recv(number, 0, tag=7)
"""):
            self.assertEqual(told["tag"], 7)

    def test_a_collective_tells_its_source_as_the_world_counts(self):
        first, second = self.calls("""
    turned = dist.new_group([1, 0], use_local_synchronization=False)
    dist.broadcast(torch.ones(1), 1, group=turned)
""")
        self.assertEqual((first["op"], first["peer"], first["blocks"]), ("broadcast_", 1, True))
        self.assertEqual(first, second)

    def test_an_asynchronous_collective_does_not_block(self):
        for told in self.calls("    dist.all_reduce(torch.ones(1), async_op=True).wait()\n"):
            self.assertEqual((told["blocks"], told["peer"]), (False, None))

    def test_of_ddp_in_cpp(self):
        self.assertEqual(self.first("""
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
    model(torch.ones(1, 2)).sum().backward()
"""), ["allgather_"] * 2)

    @torch_at_hand.needs(torch_at_hand.ddp_without_its_first_exchange)
    def test_of_ddps_backward_alone(self):
        self.assertEqual(self.first("""
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2), init_sync=False)
    model(torch.ones(1, 2)).sum().backward()
"""), ["allreduce_"] * 2)

    @torch_at_hand.needs(torch_at_hand.fully_shard_on_cpus)
    def test_of_fsdp(self):
        self.assertEqual(self.first("""
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.device_mesh import init_device_mesh
    model = torch.nn.Linear(2, 2)
    fully_shard(model, mesh=init_device_mesh("cpu", (2,)))
    model(torch.ones(1, 2)).sum().backward()
"""), ["_allgather_base_"] * 2)

    def test_functional(self):
        self.assertEqual(self.first("""
    import torch.distributed._functional_collectives as functional
    out = functional.all_reduce(torch.ones(1), "sum", dist.group.WORLD)
    assert out.item() == 2
"""), ["allreduce_"] * 2)

    def test_a_collective_in_a_group_of_one_is_not_it(self):
        self.assertEqual(self.first("""
    alone = [dist.new_group([one]) for one in range(2)][rank]
    number = torch.ones(1)
    for _ in range(3):
        dist.all_reduce(number, group=alone)
    assert number.item() == 1
    dist.barrier()
"""), ["barrier"] * 2)

    def test_an_older_torch_has_none_in_a_group_of_one_either(self):
        self.assertEqual(self.first("""
    alone = [dist.new_group([one]) for one in range(2)][rank]
    number = torch.ones(1)
    dist.all_reduce(number, group=alone)
    dist.broadcast(number, 0)
""", OLD_TORCH), ["broadcast"] * 2)

    def test_of_each_world_that_a_process_joins(self):
        with Collector() as collector:
            results = harness.run_ranks(harness.script(INIT + """
    number = torch.ones(1)
    dist.all_reduce(number)
    store = dist.distributed_c10d._get_default_store()
    store.set("ready%d" % rank, "")
    store.wait(["ready0", "ready1"])
    dist.destroy_process_group()
    again = dist.PrefixStore("again", store)
    dist.init_process_group("gloo", store=again, rank=rank, world_size=2)
    dist.barrier()
    dist.all_reduce(number)
    assert number.item() == 4
""" + END), harness.environment(collector))
            self.assert_ended_well(*results)
            for worker in collector.drained().ranks().values():
                self.assertEqual([event["op"] for event in worker.all("coll.done")], ["allreduce_", "barrier"])
            self.assert_no_fault(collector)

    def test_results_are_right_from_the_first_on(self):
        self.first("""
    for _ in range(3):
        parts = [torch.zeros(2) for _ in range(2)]
        dist.all_gather(parts, torch.full((2,), float(rank)))
        assert [part[0].item() for part in parts] == [0, 1]
""")

    def test_nothing_is_left_on_the_dispatcher(self):
        self.first("""
    has = lambda: torch._C._dispatch_has_kernel_for_dispatch_key("c10d::allreduce_", "BackendSelect")
    assert has()
    dist.barrier()
    assert not has()
""")

    def test_a_removal_that_another_thread_puts_off_is_done_by_a_later_call_and_each_world_is_seen(self):
        with Collector() as collector:
            self.assert_ended_well(*harness.run_ranks(harness.script(INIT + """
    from _safelaunch_hook import collective
    has = lambda: torch._C._dispatch_has_kernel_for_dispatch_key("c10d::allreduce_", "BackendSelect")
    nobody_calls, collective._others_call = collective._others_call, lambda: True
    dist.all_reduce(torch.ones(1))
    store = dist.distributed_c10d._get_default_store()
    store.set("ready%d" % rank, "")
    store.wait(["ready0", "ready1"])
    dist.destroy_process_group()
    dist.init_process_group("gloo", store=dist.PrefixStore("again", store), rank=rank, world_size=2)
    dist.broadcast(torch.ones(1), 0)
    assert has()
    collective._others_call = nobody_calls
    dist.barrier()
    assert not has()
""" + END), harness.environment(collector)))
            for worker in collector.drained().ranks().values():
                self.assertEqual([event["op"] for event in worker.all("coll.done")], ["allreduce_", "broadcast_"])
            self.assert_no_fault(collector)

    def test_one_that_fails_raises_the_programs_exception(self):
        with Collector() as collector:
            results = harness.run_ranks(harness.script(INIT + """
    try:
        dist.all_reduce(torch.ones(1, dtype=torch.int16))
    except RuntimeError as error:
        assert "Invalid scalar type" in str(error), error
    else:
        assert False
    dist.all_reduce(torch.ones(1))
""" + END), harness.environment(collector))
            self.assert_ended_well(*results)
            for worker in collector.drained().ranks().values():
                self.assertIn("Invalid scalar type", worker.first("coll.failed")["err"])

    def test_after_one_that_raises_the_next_is_the_first(self):
        with Collector() as collector:
            self.assert_ended_well(*harness.run_ranks(harness.script(INIT + """
    try: dist.broadcast(torch.ones(1).to_sparse(), 0)
    except RuntimeError: pass
    else: assert False
    dist.all_reduce(torch.ones(1))
    dist.broadcast(torch.ones(1), 0)
""" + END), harness.environment(collector)))
            for worker in collector.drained().ranks().values():
                self.assertEqual([event["op"] for event in worker.all("coll.enter")], ["broadcast_", "allreduce_"])
                self.assertEqual([event["op"] for event in worker.all("coll.done")], ["allreduce_"])
            self.assert_no_fault(collector)

    def test_after_one_whose_wait_raises_the_next_is_the_first(self):
        for how in ("", ", async_op=True).wait("):
            with self.subTest(how), Collector() as collector:
                self.assert_ended_well(*harness.run_ranks(harness.script(INIT + """
    import datetime, time
    group, store = dist.new_group(timeout=datetime.timedelta(seconds=1)), dist.distributed_c10d._get_default_store()
    bare = vars(torch._C._distributed_c10d.Work)["wait"]
    if rank == 0:
        try: dist.all_reduce(torch.ones(1), group=group%s)
        except RuntimeError as error: assert "imed out" in str(error), error
        else: assert False
        store.set("failed", "")
    store.wait(["failed"])
    dist.broadcast(torch.ones(1), 0)
    dist.barrier()
    while vars(torch._C._distributed_c10d.Work)["wait"] is not bare: time.sleep(0.01)  # the hook's thread puts it back
    os._exit(0)  # a group whose call has timed out is not taken down in order
""" % how), harness.environment(collector)))
                ranks = collector.drained().ranks()
                self.assert_no_fault(collector)
                self.assertEqual([event["op"] for event in ranks[0].all("coll.enter")], ["allreduce_", "broadcast_"])
                self.assertEqual([event["op"] for event in ranks[0].all("coll.failed")], ["allreduce_"])
                self.assertEqual([event["op"] for event in ranks[0].all("coll.done")], ["broadcast_"])

    def test_one_that_never_ends_does_not_delay_the_exit(self):
        path = harness.script("""
            import types
            from _safelaunch_hook import completion
            def is_finished():
                print("asked", flush=True)
                return False
            completion._Poll(is_finished, types.SimpleNamespace(is_begun=lambda: True), None).wait_in_a_thread()
        """)
        with Collector() as collector:
            result = harness.python(path, harness.environment(collector))
            self.assert_ended_well(result)
            self.assertIn("asked", result.out)
            self.assertEqual(collector.drained().workers[0].names(), ["start", "exit"])

    def test_a_call_without_a_work_on_a_device_is_over_when_the_event_behind_it_is(self):
        """As NCCL's calls are since torch 2.8; tests/cuda has the real ones. The CPU plays the device here."""
        with Collector() as collector:
            self.assert_ended_well(*harness.run_ranks(harness.script("""
    import os, types, torch, torch.distributed as dist
    from _safelaunch_hook import completion
    dist.init_process_group("gloo")
    rank, store = dist.get_rank(), dist.distributed_c10d._get_default_store()
    class Event:
        def __init__(self, device): assert device == "device 0"
        def record(self, stream): assert stream == "stream of device 0"
        def query(self): return store.check(["finished"])
    completion._work_in = lambda result: None
    completion.device_among = lambda arguments: Device("device 0")
    class Device(str): type = "fake"
    torch.Event, torch.fake = Event, types.SimpleNamespace(current_stream=lambda device: "stream of " + device)
    dist.all_reduce(torch.ones(1))
    print("returned", flush=True)
    dist.barrier()
    if rank == 0: store.set("finished", "")
    store.wait(["finished"])
""" + END), harness.environment(collector)))
            for worker in collector.drained().ranks().values():
                self.assertEqual(worker.first("coll.done")["op"], "allreduce_")
            self.assert_no_fault(collector)

    def test_it_is_over_when_gloo_has_woken_who_waits_for_it(self):
        """On a busy machine the program destroys its group before gloo says of the work that it is completed."""
        self.assertEqual(self.first("""
    torch._C._distributed_c10d.Work.is_completed = lambda work: False
    dist.all_reduce(torch.ones(1))
"""), ["allreduce_"] * 2)

    def test_its_end_is_told_before_the_programs_next_step(self):
        """A rank may be killed in its second step, before our thread has looked again."""
        with Collector() as collector:
            harness.run_ranks(harness.script(INIT + """
    from _safelaunch_hook import completion
    completion._SHORTEST_WAIT = completion._LONGEST_WAIT = 3600
    dist.all_reduce(torch.ones(1))
    if rank == 1: os.kill(os.getpid(), 9)
    try: dist.barrier()
    except RuntimeError: os._exit(0)  # the other is gone
"""), harness.environment(collector))
            ranks = collector.drained().ranks()
            self.assertEqual([event["op"] for event in ranks[1].all("coll.done")], ["allreduce_"])
            self.assert_no_fault(collector)

    def test_the_end_in_one_world_is_told_before_the_next_world_begins(self):
        with Collector() as collector:
            self.assert_ended_well(*harness.run_ranks(harness.script("""
    import threading, types, torch, torch.distributed as dist
    from _safelaunch_hook import completion
    dist.init_process_group("gloo")
    rank, store = dist.get_rank(), dist.distributed_c10d._get_default_store()
    asked, finished = threading.Event(), []
    class Event:
        def __init__(self, device): pass
        def record(self, stream): pass
        def query(self):
            if threading.get_ident() != threading.main_thread().ident: asked.set()
            return bool(finished)
    completion._work_in = lambda result: None
    completion.device_among = lambda arguments: types.SimpleNamespace(type="fake")
    completion._SHORTEST_WAIT = completion._LONGEST_WAIT = 3600  # between two looks, unless it is woken
    torch.Event, torch.fake = Event, types.SimpleNamespace(current_stream=lambda device: None)
    dist.all_reduce(torch.ones(1))
    asked.wait()
    finished.append(True)
    dist.barrier()
    store.set("ready%d" % rank, "")
    store.wait(["ready0", "ready1"])
    dist.destroy_process_group()
    dist.init_process_group("gloo", store=dist.PrefixStore("again", store), rank=rank, world_size=2)
""" + END), harness.environment(collector)))
            for worker in collector.drained().ranks().values():
                names = [name for name in worker.names() if name in ("init.enter", "coll.done")]
                self.assertEqual(names, ["init.enter", "coll.done", "init.enter"])
            self.assert_no_fault(collector)

    def test_later_batches_are_torchs_own_methods_again(self):
        self.assertEqual(self.first("""
    dist.all_reduce(torch.ones(1))
    dist.barrier()
    try: dist.group.WORLD._start_coalescing(torch.device("cpu"))
    except RuntimeError: pass  # gloo has no batches; a method that does not bind raises a TypeError
"""), ["allreduce_"] * 2)

    def test_a_device_without_events_is_taken_for_finished_and_said_to_be_unobserved(self):
        with Collector() as collector:
            self.assert_ended_well(*harness.run_ranks(harness.script("""
    import torch, torch.distributed as dist
    from _safelaunch_hook import completion
    dist.init_process_group("gloo")
    class Device: type = "unheard_of"
    completion._work_in = lambda result: None
    completion.device_among = lambda arguments: Device()
    dist.all_reduce(torch.ones(1))
    dist.barrier()
""" + END), harness.environment(collector)))
            for worker in collector.drained().ranks().values():
                self.assertIs(worker.first("coll.done")["observed"], False)

    def test_a_batch_is_over_when_all_of_its_calls_are(self):
        """gloo has no batches, so the two functions that begin and end one are played."""
        with Collector() as collector:
            self.assert_ended_well(*harness.run_ranks(harness.script("""
    import torch, torch.distributed as dist
    told = []
    groups = torch._C._distributed_c10d.ProcessGroup
    groups._start_coalescing, groups._end_coalescing = lambda group, device: None, lambda group, device: told.append("batch")
    begins, ends = groups._start_coalescing, groups._end_coalescing
    dist.init_process_group("gloo")
    from _safelaunch_hook import completion
    completion.Collective.returned = lambda self, result: told.append(self.name)
    group, device = dist.group.WORLD, torch.device("cpu")
    group._start_coalescing(device)
    dist.all_reduce(torch.ones(1))
    assert told == []
    group._end_coalescing(device)
    assert told == ["batch", "allreduce_"], told
    assert (groups._start_coalescing, groups._end_coalescing) == (begins, ends)
""" + END), harness.environment(collector)))
            self.assert_no_fault(collector.drained())

    def test_an_older_torch_has_wrappers_that_are_put_back(self):
        self.assertEqual(self.first("""
    assert hasattr(dist.all_reduce, "__wrapped__")
    ours = dist.all_reduce
    number = torch.ones(1)
    dist.all_reduce(number)
    assert dist.all_reduce is not ours
    ours(number)
    assert number.item() == 4
    dist.barrier()
""", OLD_TORCH), ["all_reduce"] * 2)


if __name__ == "__main__":
    harness.main("torch")
