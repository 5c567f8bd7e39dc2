"""SAFELAUNCH_BACKEND=gloo: a program written for NCCL runs on gloo, and its numbers are right."""
import harness
import torch_at_hand
from collector import Collector

MODEL = """
    import os, torch, torch.distributed as dist
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 4))
    data, target = torch.randn(8, 4), torch.randn(8, 4)
    def steps(model, data, target):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
        for _ in range(5):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(data), target).backward()
            optimizer.step()
    def same(ours):
        torch.manual_seed(0)
        alone = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 4))
        steps(alone, data, target)
        for one, other in zip(ours, alone.parameters()):
            torch.testing.assert_close(one, other, rtol=0, atol=1e-6)
"""


class Gloo(harness.HookTest):
    def run_two(self, text, **variables):
        with Collector() as collector:
            variables.setdefault("SAFELAUNCH_BACKEND", "gloo")
            results = harness.run_ranks(harness.script(text), harness.environment(collector, **variables))
            self.assert_no_fault(collector.drained())
            return results, collector.ranks()

    def runs(self, text):
        results, ranks = self.run_two(text)
        self.assert_ended_well(*results)
        return ranks

    def test_nccl_with_a_device_and_no_destroy(self):
        ranks = self.runs("""
            import os, torch, torch.distributed as dist
            dist.init_process_group("nccl", device_id=torch.device("cuda", int(os.environ["LOCAL_RANK"])))
            assert dist.get_backend() == "gloo"
            number = torch.ones(1)
            dist.all_reduce(number)
            assert number.item() == 2
            group = dist.new_group([0, 1], backend="nccl")
            assert dist.get_backend(group) == "gloo"
            dist.barrier(group, device_ids=[0])
        """)
        entered = ranks[0].first("init.enter")
        self.assertEqual((entered["backend"], entered["backend_used"]), ("nccl", "gloo"))
        self.assertEqual(ranks[0].first("group")["backend"], "gloo")

    def test_a_backend_for_each_device(self):
        ranks = self.runs("""
            import torch, torch.distributed as dist
            dist.init_process_group(backend="cpu:gloo,cuda:nccl", device_id=0)
            assert dist.get_backend_config() == "cpu:gloo,cuda:gloo", dist.get_backend_config()
            dist.barrier()
        """)
        self.assertEqual(ranks[0].first("init.enter")["backend_used"], "cpu:gloo,cuda:gloo")

    @torch_at_hand.needs(torch_at_hand.a_default_backend_for_each_device)
    def test_no_backend_at_all(self):
        self.runs("""
            import torch, torch.distributed as dist
            dist.init_process_group()
            assert dist.get_default_backend_for_device("cuda") == "gloo"
            dist.barrier()
        """)

    def test_upper_case_and_the_newer_names(self):
        self.runs("""
            import torch.distributed as dist
            from _safelaunch_hook import gloo
            assert gloo.backend("nccl2") == gloo.backend("nccl-legacy") == gloo.backend("NCCL") == "gloo"
            assert gloo.backend("cuda:nccl2, cpu:gloo") == "cuda:gloo, cpu:gloo"
            assert gloo.backend("mpi") == "mpi" and gloo.backend(None) is None
            dist.init_process_group(dist.Backend("NCCL"))
            assert dist.get_backend() == "gloo"
            dist.barrier()
        """)

    @torch_at_hand.needs(torch_at_hand.a_build_without_nccl)
    def test_without_the_profile_nothing_is_changed(self):
        results, ranks = self.run_two("""
            import torch.distributed as dist
            dist.init_process_group("nccl")
        """, SAFELAUNCH_BACKEND=None)
        for result in results:
            self.assertIn("Distributed package doesn't have NCCL built in", result.err)
        self.assertEqual(ranks[0].first("init.enter")["backend_used"], "nccl")

    def test_ddp_equals_one_process(self):
        self.runs(MODEL + """
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    model = torch.nn.parallel.DistributedDataParallel(model)
    steps(model, data[4 * rank:4 * rank + 4], target[4 * rank:4 * rank + 4])
    same(model.parameters())
""")

    @torch_at_hand.needs(torch_at_hand.fully_shard_on_cpus)
    def test_fsdp2_equals_one_process(self):
        self.runs(MODEL + """
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    fully_shard(model, mesh=init_device_mesh("cpu", (2,)))
    steps(model, data[4 * rank:4 * rank + 4], target[4 * rank:4 * rank + 4])
    same([each.full_tensor() for each in model.parameters()])
""")

    @torch_at_hand.needs(torch_at_hand.fully_shard_on_cpus)
    def test_fsdp2_is_refused_where_gloo_would_corrupt_it(self):
        results, ranks = self.run_two(MODEL + """
    torch.__version__ = "2.7.1"
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    import torch.distributed.fsdp._fully_shard._fsdp_collectives as collectives
    collectives.dist.reduce_scatter_single = lambda output, input, op, group, **_: (
        group._reduce_scatter_base(output, input, options(op)))
    def options(op):
        result = dist.ReduceScatterOptions()
        result.reduceOp = op
        return result
    dist.init_process_group("nccl")
    fully_shard(model, mesh=init_device_mesh("cpu", (2,)))
    steps(model, data, target)
""")
        for rank, result in enumerate(results):
            self.assertEqual(result.code, 1)
            self.assertIn("FSDP2 would train with gradients too large", result.err)
            self.assertIn("gradients too large", ranks[rank].first("refused")["why"])

    def test_ddp_is_not_refused_on_an_older_torch(self):
        self.runs(MODEL + """
    torch.__version__ = "2.1.0"
    dist.init_process_group("nccl")
    model = torch.nn.parallel.DistributedDataParallel(model)
    steps(model, data, target)
    out = torch.empty(1)
    dist.reduce_scatter_tensor(out, torch.ones(2))
    assert out.item() == 2
""")

    def test_a_pipeline_on_the_gpu_is_refused(self):
        results, ranks = self.run_two("""
            import torch, torch.distributed as dist
            dist.init_process_group("nccl")
            dist.barrier()
            tensor = torch.empty(1, device="meta")  # stands for a GPU's
            dist.send(tensor, 1) if dist.get_rank() == 0 else dist.recv(tensor, 0)
        """)
        for result in results:
            self.assertEqual(result.code, 1)
            self.assertIn("pipeline parallelism", result.err)
        self.assertEqual(ranks[0].first("refused")["what"], "send")
        self.assertEqual(ranks[1].first("refused")["what"], "recv")

    def test_a_pipeline_on_the_cpu_goes_on(self):
        self.runs("""
            import torch, torch.distributed as dist
            dist.init_process_group("nccl")
            rank = dist.get_rank()
            sent, got = torch.full((1,), float(rank)), torch.empty(1)
            for work in dist.batch_isend_irecv([
                dist.P2POp(dist.isend, sent, 1 - rank), dist.P2POp(dist.irecv, got, 1 - rank)]):
                work.wait()
            assert got.item() == 1 - rank
        """)

    def test_a_forked_child_that_ends_in_order_leaves_its_parents_groups_alone(self):
        self.runs("""
            import atexit, os, torch, torch.distributed as dist
            dist.init_process_group("nccl")
            dist.barrier()
            child = os.fork()
            if child == 0:
                dist.distributed_c10d.destroy_process_group = lambda: os._exit(9)
                atexit._run_exitfuncs()
                os._exit(0)  # torch itself would now wait for gloo's threads for ever
            assert os.waitpid(child, 0)[1] == 0
        """)

    def test_a_rank_that_fails_is_not_held_back_by_the_destruction_of_its_groups(self):
        results, _ = self.run_two("""
            import torch, torch.distributed as dist
            dist.init_process_group("nccl")
            dist.barrier()  # both have left init
            if dist.get_rank() == 0:
                dist.barrier(async_op=True)
            raise ValueError("the user's own")
        """)
        self.assertIn("ValueError: the user's own", results[0].err)


if __name__ == "__main__":
    harness.main("torch")
