"""What safelaunch's own verbs say of the machine."""

from gpu_harness import record
from row import Row, Said, short


def probe(scene, *options):
    status, answer, err = scene.ask("probe", *options)
    if status != 0:
        return Said(False, None, short(answer.get("conclusion") or err))
    basic = next(one for one in answer["profiles"] if one["profile"] == "basic")
    for name, unit in (("init_ms", "ms"), ("first_all_reduce_ms", "ms"), ("bus_gb_per_s", "GB/s")):
        if basic.get(name) is not None:
            record(f"probe, {answer['ranks']} ranks: {name}", basic[name], unit)
    return Said(basic["verdict"] == "works", None, short(answer["conclusion"]))


def doctor(scene):
    status, answer, err = scene.ask("doctor")
    findings = [finding["id"] for finding in answer.get("findings", [])]
    seen = {theme["what"]: theme["seen"] for theme in answer.get("looked_at", [])}
    return Said(status == 0, None, short(f"{findings or 'no findings'}; {seen.get('gpus')}" if seen else err))


def test(scene):
    status, answer, err = scene.ask("test")
    tried = [backend for backend in answer.get("backends", []) if backend["tried"]]
    for backend in tried:
        record(f"test, {backend['backend']}", sum(step["seconds"] for step in backend["steps"]), "s", backend.get("device", ""))
    works = {backend["backend"] for backend in tried if backend["works"]}
    return Said(status == 0 and {"nccl", "gloo"} <= works, None, short(answer.get("conclusion") or err))


ROWS = [
    Row("probe", 20, probe, alone=True),
    Row("probe, two ranks on the GPU", 20, lambda scene: probe(scene, "--ranks", "2", "--profile", "basic"), alone=True),
    Row("doctor", 5, doctor),
    Row("test", 30, test),
]
