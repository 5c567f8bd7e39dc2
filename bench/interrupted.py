#!/usr/bin/env python3
"""Training that is killed, hung and cut off from its peers at random steps, and goes on from its checkpoints by itself.

    SAFELAUNCH_BIN=build/release/launcher/cli/safelaunch python bench/interrupted.py --faults 60 --seed 1

Each run trains a toy of two ranks by torchrun with one fault behind each of its checkpoints. Its weights must be, to the last bit, those
of a run that nothing befell. The Python needs torch.
"""
import argparse
import collections
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "tests" / name) for name in ("integration", ".")]
from harness import SAFELAUNCH, torchrun  # noqa: E402
from test_resume import RESUMES, TRAINS  # noqa: E402

CHECKPOINTS = (10, 20, 30)  # of 40 steps
KINDS = ("killed", "hangs", "peers")


def train(faults):
    """The run's last words, and how each of its attempts ended. `faults`: (step, rank, what happens there)."""
    with tempfile.TemporaryDirectory() as folder:
        here = pathlib.Path(folder)
        (here / "train.py").write_text(TRAINS)
        (here / "resumes.yaml").write_text(RESUMES.replace("stall: 5s", "stall: 20s"))  # for a busy machine
        for step, rank, kind in faults:
            (here / f"fault-{step}-{rank}").write_text(kind)
        command = [SAFELAUNCH, "--run-dir", str(here / "run"), "--profile", "./resumes.yaml", "--init-timeout", "2min",
                   "--", *torchrun("--nproc_per_node", "2", str(here / "train.py"))]
        run = subprocess.run(command, cwd=here, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                             env={**os.environ, "OMP_NUM_THREADS": "1"})
        outcome = json.loads((here / "run" / "outcome.json").read_text())
        weights = [line for line in run.stdout.splitlines() if line.startswith("trained to")]
        return weights, [attempt["end"] for attempt in outcome["attempts"]], run


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--faults", type=int, default=60)
    options.add_argument("--seed", type=int, default=1)
    options = options.parse_args()
    chance, left, wrong, seen = random.Random(options.seed), options.faults, 0, collections.Counter()
    undisturbed, _, run = train([])
    if len(set(undisturbed)) != 1:
        sys.exit(f"the training does not work here:\n{run.stderr}")
    while left > 0:
        faults = [(chance.randrange(step, step + 9), chance.randrange(2), chance.choice(KINDS)) for step in CHECKPOINTS[:left]]
        left -= len(faults)
        weights, ends, run = train(faults)
        seen.update(kind for _, _, kind in faults)
        same = set(weights) == set(undisturbed) and ends[-1] == "completed" and len(ends) > len(faults)
        wrong += not same
        print("same weights" if same else "WRONG", faults, ends, flush=True)
        if not same:
            print(weights, run.stderr, flush=True)
    print(f"{options.faults} faults ({dict(seen)}): {wrong} runs ended otherwise than the undisturbed one")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
