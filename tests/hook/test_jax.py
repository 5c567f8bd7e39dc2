"""The stages of JAX, in two plain processes."""
import harness
from collector import Collector

TRAIN = """
    import sys, jax
    jax.config.update("jax_platforms", "cpu")
    jax.distributed.initialize("127.0.0.1:" + sys.argv[1], 2, int(sys.argv[2]))
    from jax.experimental import multihost_utils
    import numpy
    print(multihost_utils.process_allgather(numpy.ones(1)).sum())
"""


class Jax(harness.HookTest):
    def start(self, collector, ranks=(0, 1), text=TRAIN, **variables):
        env = harness.environment(collector, **{"JAX_PLATFORMS": "cpu", **variables})
        path, port = harness.script(text), str(harness.free_port())
        return [harness.start([harness.sys.executable, path, port, str(rank)], env) for rank in ranks]

    def test_both_processes_send_every_stage(self):
        with Collector() as collector:
            results = harness.finish_all(self.start(collector))
            self.assert_ended_well(*results)
            self.assertIn("2.0", results[0].out)
            ranks = collector.drained().ranks()
            self.assert_no_fault(collector)
            for rank in (0, 1):
                self.assertEqual(ranks[rank].names("pg.enter", "pg.exit"),
                                 ["start", "imported", "init.enter", "group", "exit"])
                self.assertIn("pg.exit", ranks[rank].names())
                self.assertEqual(ranks[rank].first("imported")["lib"], "jax")
                self.assertEqual(ranks[rank].first("init.enter")["world"], 2)

    def test_a_platform_that_jax_does_without_has_not_failed(self):
        with Collector() as collector:
            text = TRAIN.replace('    jax.config.update("jax_platforms", "cpu")\n', "")
            self.assert_ended_well(*harness.finish_all(self.start(collector, text=text, JAX_PLATFORMS="")))
            rank = collector.drained().ranks()[0]
            self.assertNotIn("pg.failed", rank.names())
            made = {event["group"]: event.get("made", True) for event in rank.all("pg.exit")}
            self.assertTrue(made.pop("cpu"))
            self.assertEqual(set(made.values()), {False}, made)

    def test_a_missing_process_leaves_the_other_answering_from_initialize(self):
        with Collector() as collector:
            process, = self.start(collector, ranks=[0])
            try:
                worker = collector.wait_for_worker("init.enter", rank=0)
                for number in harness.numbers_for():
                    lines = worker.ask("stack", number)["threads"][0]["frames"]
                    if "connect" in lines[-1] or lines[-1].endswith(" initialize"):
                        break
                self.assertTrue(any("train.py:4 <module>" in line for line in lines), lines)
            finally:
                process.kill()
                process.communicate()

    def test_the_profiles_timeout_is_used_where_the_program_chose_none(self):
        for extra, expected in (("", 4), (", initialization_timeout=123", 123)):
            with Collector() as collector:
                text = TRAIN.replace("int(sys.argv[2]))", "int(sys.argv[2])%s)" % extra)
                process, = self.start(collector, ranks=[1], text=text, SAFELAUNCH_PG_TIMEOUT=4)
                try:
                    worker = collector.wait_for_worker("init.enter", rank=1)
                    self.assertEqual(worker.first("init.enter")["timeout_s"], expected)
                finally:
                    process.kill()
                    process.communicate()

    def test_without_arguments_it_finds_what_safelaunch_has_spawned(self):
        """Also below srun, whose variables tell of safelaunch itself."""
        text = TRAIN.replace('"127.0.0.1:" + sys.argv[1], 2, int(sys.argv[2])', "")
        srun = {"SLURM_JOB_ID": "1", "SLURM_STEP_NODELIST": "n1", "SLURM_NTASKS": "1", "SLURM_PROCID": "0",
                "SLURM_LOCALID": "0", "SLURM_STEP_NUM_TASKS": "1"}
        address = f"127.0.0.1:{harness.free_port()}"
        with Collector() as collector:
            processes = []
            for rank in (0, 1):
                processes += self.start(collector, ranks=[rank], text=text, SAFELAUNCH_RUN_ID="run", RANK=str(rank),
                                        WORLD_SIZE="2", JAX_COORDINATOR_ADDRESS=address, **srun)
            results = harness.finish_all(processes)
            self.assert_ended_well(*results)
            self.assertIn("2.0", results[0].out)
            self.assert_no_fault(collector)
            self.assertEqual(sorted(collector.drained().ranks()), [0, 1])

    def test_wrong_arguments_raise_jaxs_exception(self):
        with Collector() as collector:
            process, = self.start(collector, ranks=[0], text="""
                import jax
                jax.distributed.initialize()
            """)
            result = harness.finish(process)
            self.assertIn("ValueError: coordinator_address should be defined.", result.err)
            worker = collector.drained().workers[0]
            self.assertEqual(worker.first("init.failed")["type"], "ValueError")


if __name__ == "__main__":
    harness.main("jax")
