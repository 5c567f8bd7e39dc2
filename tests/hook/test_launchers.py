"""deepspeed and accelerate, where they are installed."""
import importlib.util
import os
import sys
import unittest

import harness
from collector import Collector

HAS = {name: importlib.util.find_spec(name) is not None for name in ("deepspeed", "accelerate")}
COMPILES = 600  # seconds: the first init of DeepSpeed compiles an operation for up to a minute

DEEPSPEED = """
    import argparse, atexit, glob, os, torch, deepspeed
    import torch.distributed as dist
    parser = argparse.ArgumentParser()
    parser.add_argument("--local_rank", type=int)
    parser.parse_args()
    deepspeed.init_distributed(ARGUMENTS)
    assert dist.get_backend() == "gloo", dist.get_backend()
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 4)
    engine, _, _, _ = deepspeed.initialize(
        model=model, model_parameters=model.parameters(),
        config={"train_micro_batch_size_per_gpu": 1, "optimizer": {"type": "SGD", "params": {"lr": 0.1}}})
    engine.backward(engine(torch.ones(1, 4)).sum())
    engine.step()
    print("trained %d" % dist.get_rank(), flush=True)
    dist.barrier()
    if dist.get_rank() == 0:
        for left in glob.glob("/dev/shm/deepspeed_allreduce_buffer_*_{MASTER_PORT}_*".format(**os.environ)):
            os.remove(left)  # DeepSpeed itself leaves them
    atexit._run_exitfuncs(), os._exit(0)  # as below
"""
ACCELERATE = """
    import atexit, os, torch
    from accelerate import Accelerator
    accelerator = Accelerator(cpu=True)
    model = accelerator.prepare(torch.nn.Linear(4, 4))
    accelerator.backward(model(torch.ones(1, 4)).sum())
    assert accelerator.num_processes == 2
    print("trained %d" % accelerator.process_index, flush=True)
    accelerator.end_training()
    atexit._run_exitfuncs(), os._exit(0)  # an interpreter that ends aborts now and then, by gloo's threads (docs/hook.md)
"""


class Launchers(harness.HookTest):
    def assert_stages(self, collector):
        ranks = collector.drained().ranks()
        self.assertEqual(sorted(ranks), [0, 1])
        self.assert_no_fault(collector)
        for worker in ranks.values():
            order = [name for name in worker.names() if name in ("imported", "init.enter", "group", "coll.enter", "coll.done")]
            self.assertEqual(order, ["imported", "init.enter", "group", "coll.enter", "coll.done"])
        return ranks

    def launch(self, collector, command, timeout=harness.PATIENCE, **variables):
        variables.setdefault("PATH", os.path.dirname(sys.executable) + ":" + os.environ["PATH"])
        env = harness.environment(collector, TORCH_EXTENSIONS_DIR=harness.kept_extensions(), **variables)
        result = harness.run(command, env, timeout)
        self.assert_ended_well(result)
        self.assertIn("trained 0", result.out)
        self.assertIn("trained 1", result.out)

    def deepspeed(self, arguments, **variables):
        with Collector() as collector:
            path = harness.script(DEEPSPEED.replace("ARGUMENTS", arguments))
            self.launch(collector, [sys.executable, "-m", "deepspeed.launcher.runner", "--num_gpus", "2",
                                    "--master_port", str(harness.free_port()), path], COMPILES, **variables)
            return self.assert_stages(collector)

    @unittest.skipUnless(HAS["deepspeed"], "no deepspeed")
    def test_deepspeed(self):
        self.deepspeed("")

    @unittest.skipUnless(HAS["deepspeed"], "no deepspeed")
    def test_deepspeed_that_asks_for_nccl_runs_on_gloo_with_the_profiles_timeout(self):
        ranks = self.deepspeed('dist_backend="nccl"', SAFELAUNCH_BACKEND="gloo", SAFELAUNCH_PG_TIMEOUT="77")
        entered = ranks[0].first("init.enter")
        self.assertEqual((entered["backend"], entered["backend_used"], entered["timeout_s"]), ("nccl", "gloo", 77))

    @unittest.skipUnless(HAS["accelerate"], "no accelerate")
    def test_accelerate(self):
        with Collector() as collector:
            self.launch(collector, [
                sys.executable, "-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2",
                "--main_process_port", str(harness.free_port()), harness.script(ACCELERATE)],
                ACCELERATE_USE_CPU="true")
            self.assert_stages(collector)


if __name__ == "__main__":
    harness.main("torch")
