"""A chain of launchers, as NeMo's: torchrun's ranks load torch, write a configuration, and each trains in another Python below it."""
from workbench import MEET, START


def command(bench):
    bench.script(START + "if RANK == 1: late()\n" + MEET, "train.py")
    return bench.train("""
import json, subprocess, torch
with open(f"config{RANK}.json", "w") as file: json.dump({"threads": torch.get_num_threads()}, file)
sys.exit(subprocess.run([sys.executable, "train.py", f"--config=config{RANK}.json"]).returncode)
""", end="")
