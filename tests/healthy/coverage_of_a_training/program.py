"""coverage traces every line of the ranks, and slows them down."""
from workbench import free_port

NEEDS = ["coverage"]


def command(bench):
    script = bench.program("def tokenise(number): return number % 7\nif RANK == 1:\n    late(0)\n    end = time.monotonic() + 10\n"
                           "    while time.monotonic() < end: sum(map(tokenise, range(1000)))\n")
    return bench.torchrun("coverage", "run", "--parallel-mode", script, options=[f"--master_port={free_port()}", "--module"])
