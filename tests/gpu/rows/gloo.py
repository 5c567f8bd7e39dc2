"""gloo in NCCL's place with CUDA tensors: a row for each collective, its values compared with the true ones."""

import json
import re

from gpu_harness import JOBS, job
from row import PATIENT, Row, Said, healthy


def collectives(scene):
    names = re.findall(r"^@collective\ndef (\w+)", (JOBS / "gloo_collectives.py").read_text(), re.M)
    run = scene.run_safelaunch("--profile", "gloo-fallback", *PATIENT, "--", *job("gloo_collectives.py"), env=scene.environment())
    told = {line["collective"]: line for line in map(json.loads, filter(lambda line: line.startswith("{"), run.out.splitlines()))}
    rows = {f"gloo-fallback: {name}": Said(told[name]["ok"] and told[name]["backend"] == "gloo", None, told[name]["why"])
            if name in told else Said(False, None, "it was not reached") for name in names}
    return {"gloo-fallback": healthy(run), **rows}


ROWS = [Row("gloo-fallback", 20, collectives)]
