"""What the hook and the plugin cost, over NCCL: the same job in turns without and with them; the median of the differences."""

import json
import statistics

from gpu_harness import job, record
from row import PATIENT, Row, Said, healthy

PAIRS = 3


def cost(what, without, ranks):
    def times(scene, options):
        run = scene.run_safelaunch(*PATIENT, *options, "--", *job("costs.py", ranks), env=scene.environment())
        said = healthy(run, "a later all_reduce")
        scene.assertTrue(said.ok, said.why)
        return json.loads(run.out.strip().splitlines()[-1])

    def play(scene):
        pairs = [(times(scene, [*without, f"--no-{what}"]), times(scene, without)) for _ in range(PAIRS)]
        for name in pairs[0][0]:
            differences = [ours[name] - bare[name] for bare, ours in pairs]
            without_it, with_it = ([round(one[name], 1) for one in ones] for ones in zip(*pairs))
            note = f"{ranks} ranks; without {without_it}, with {with_it}"
            record(f"cost of the {what}: {name}", round(statistics.median(differences), 1), "us", note)
        return Said(True)

    return Row(f"cost of the {what}", 50, play, alone=True)


# One rank's collectives take no time of the network's, so that the hook's microseconds show; over one rank the plugin passes.
ROWS = [cost("hook", ["--no-plugin"], 1), cost("plugin", [], 2)]
