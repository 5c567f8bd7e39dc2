"""A notebook's way: accelerate's debug_launcher forks the ranks from a parent that has loaded torch."""
import sys

CUDA = "it is accelerate on CPUs"
NEEDS = ["accelerate"]


def command(bench):
    return [sys.executable, bench.program("""
def train():
    from accelerate import PartialState
    import torch, torch.distributed as dist
    state = PartialState(cpu=True)
    if state.process_index == 1: work(10)
    total = torch.ones(1)
    dist.all_reduce(total)
    say(f"rank {state.process_index} of {state.num_processes}: {int(total)}")

if __name__ == "__main__":
    from accelerate import debug_launcher
    debug_launcher(train, num_processes=2)
    say("launched")
""", end="")]
