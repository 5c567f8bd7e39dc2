"""SAFELAUNCH_PG_TIMEOUT, and the all_reduce of our own (SAFELAUNCH_VERIFY=inject)."""
import harness
from collector import Collector

SHOW = """
    import torch, torch.distributed as dist
    from datetime import timedelta
    def timeout(group):
        return group._get_backend(torch.device("cpu")).options._timeout
"""
END = """
    dist.barrier()  # or one goes while the other still connects to it
    dist.destroy_process_group()
"""


class Timeouts(harness.HookTest):
    def run_two(self, text, collector=None, **variables):
        variables.setdefault("SAFELAUNCH_PG_TIMEOUT", "77")
        results = harness.run_ranks(harness.script(SHOW + text + END), harness.environment(collector, **variables))
        self.assert_ended_well(*results)

    def test_holds_for_the_group_the_store_and_later_groups(self):
        with Collector() as collector:
            self.run_two("""
    dist.init_process_group("gloo")
    assert timeout(dist.group.WORLD) == timedelta(seconds=77), timeout(dist.group.WORLD)
    assert timeout(dist.new_group([0, 1])) == timedelta(seconds=77)
    assert dist.distributed_c10d._get_default_store().timeout == timedelta(seconds=77)
    assert dist.TCPStore("127.0.0.1", 0, is_master=True).timeout == timedelta(seconds=77)
""", collector)
            self.assertEqual(collector.drained().ranks()[0].first("init.enter")["timeout_s"], 77)

    def test_leaves_what_the_program_chose(self):
        self.run_two("""
    dist.init_process_group("gloo", timeout=timedelta(seconds=111))
    assert timeout(dist.group.WORLD) == timedelta(seconds=111)
    assert timeout(dist.new_group([0, 1], timedelta(seconds=112))) == timedelta(seconds=112)
    store = dist.TCPStore("127.0.0.1", 0, None, True, timedelta(seconds=113))
    assert store.timeout == timedelta(seconds=113)
""")

    def test_a_default_that_a_framework_passes_on_is_no_choice(self):
        self.run_two("""
    dist.init_process_group("gloo", timeout=dist.default_pg_timeout)
    assert timeout(dist.group.WORLD) == timedelta(seconds=77)
""")

    def test_without_it_torchs_own_default_holds(self):
        self.run_two("""
    dist.init_process_group("gloo")
    assert timeout(dist.group.WORLD) == timedelta(minutes=30)
""", SAFELAUNCH_PG_TIMEOUT=None)

    def test_nonsense_is_no_timeout(self):
        self.run_two("""
    dist.init_process_group("gloo")
    assert timeout(dist.group.WORLD) == timedelta(minutes=30)
""", SAFELAUNCH_PG_TIMEOUT="soon")

    def test_it_needs_no_socket(self):
        with Collector() as collector:
            path = harness.script("import torch.distributed as dist\ndist.init_process_group('gloo')")
            env = harness.environment(collector, SAFELAUNCH_PG_TIMEOUT=5)
            rank, = harness.start_ranks(path, env, only=[0])
            result = harness.finish(rank)
            self.assertEqual(result.code, 1)
            self.assertIn("waiting for clients. 1/2 clients joined", result.err)


class Verify(harness.HookTest):
    TRAIN = """
        import torch, torch.distributed as dist
        dist.init_process_group("gloo")
        number = torch.full((1,), 21.0)
        dist.all_reduce(number)
        assert number.item() == 42, number
        dist.destroy_process_group()
    """

    def test_the_injected_all_reduce_comes_before_the_programs(self):
        with Collector() as collector:
            path = harness.script(self.TRAIN.replace("dist.all_reduce(number)", "dist.barrier(); dist.all_reduce(number)"))
            env = harness.environment(collector, SAFELAUNCH_VERIFY="inject")
            self.assert_ended_well(*harness.run_ranks(path, env))
            for worker in collector.drained().ranks().values():
                self.assertEqual(worker.first("coll.done")["op"], "allreduce_")
            self.assert_no_fault(collector)

    def test_nothing_is_injected_where_a_rank_has_no_hook(self):
        with Collector() as collector:
            path = harness.script("from datetime import timedelta\n" + harness.textwrap.dedent("""
                import sys, os
                if "_safelaunch_hook.verify" in sys.modules:
                    raise SystemExit("too early")
                import torch
                verify = sys.modules.get("_safelaunch_hook.verify")
                if verify:
                    verify._PATIENCE = timedelta(seconds=1)
            """) + harness.textwrap.dedent(self.TRAIN))
            env = harness.environment(collector, SAFELAUNCH_VERIFY="inject")
            port = harness.free_port()
            ranks = [dict(env, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1",
                          MASTER_PORT=str(port)) for rank in (0, 1)]
            del ranks[1]["PYTHONPATH"]
            processes = [harness.start([harness.sys.executable, path], one) for one in ranks]
            self.assert_ended_well(*harness.finish_all(processes))
            worker = collector.drained().ranks()[0]
            self.assertEqual(worker.first("hook_error")["where"], "verify")


if __name__ == "__main__":
    harness.main("torch")
