"""What is seeded comes out as without safelaunch, and torch is loaded by one thread."""


def command(bench):
    return bench.train("""
import random
random.seed(7)
say(f"{random.random()} {len(os.listdir('/proc/self/task'))} threads")
import numpy, torch
numpy.random.seed(7)
torch.manual_seed(7)
say(f"{numpy.random.rand()} {torch.rand(1).item()} {random.random()}")
""")
