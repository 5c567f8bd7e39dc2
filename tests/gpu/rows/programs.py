"""A few of the healthy programs that need a GPU (tests/healthy/gpu_*): safelaunch says nothing about them."""

import importlib.util

from gpu_harness import TESTS, workbench
from row import SHORT, Row, healthy

PROGRAMS = {  # and the seconds that they take
    "gpu_is_busy_before_the_first_collective": 25, "gpu_queue_of_a_thousand_steps": 25, "gpu_graph_is_captured_first": 25,
    "gpu_graph_after_warming_up": 25, "gpu_collectives_in_one_batch": 25, "gpu_sends_in_one_batch": 40,
}


def load(name):
    spec = importlib.util.spec_from_file_location(name, TESTS / "healthy" / name / "program.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def program(name):
    def play(scene):
        bench = workbench.Bench(scene.folder, scene.environment(BENCH_BACKEND="nccl"))
        return healthy(scene.run_safelaunch(*SHORT, "--work-timeout", "60s", "--", *load(name).command(bench), env=bench.env))

    return Row(f"program: {name}", PROGRAMS[name], play)


ROWS = [program(name) for name in PROGRAMS]
