"""P9 and P21: what only the tests of the build folder can try; they are run, and their count of checks is the figure."""

import pathlib
import re
import subprocess

from promises.scene import PATIENCE
from promises.tries import Untried, expect, tries


def _checks_of(scene, test, words):
    """The number of checks that a test program of the same build made."""
    program = pathlib.Path(scene.launcher.program).resolve().parents[2] / "tests" / test
    if not program.exists():
        raise Untried(f"{test} is not built beside the program")
    done = subprocess.run([program, *words], env=scene.environment(), cwd=scene.work, capture_output=True, text=True, timeout=5 * PATIENCE)
    expect(done.returncode == 0, done.stdout[-400:])
    checks = re.search(r"(\d+) assertions? in", done.stdout) or re.search(r"assertions: *(\d+)", done.stdout)
    expect(checks and int(checks[1]) > 0, f"nothing was checked: {done.stdout[-200:]}")
    return int(checks[1])


@tries("P9", "test_agree: simulated schedules of crashes, pauses, partitions, lost and repeated messages; checks", 1, 1, unit="checks")
def simulated_schedules(scene, _, __):
    return _checks_of(scene, "test_agree", ["[simulation]"])


PARSERS = (("test_agree", "[codec],[frames],[frame_stream],[etcd_json]"), ("test_nccl", ""), ("test_settings", ""), ("test_profile", ""))


@tries("P21", "the parsers' own tests: YAML, NCCL's log, frames, settings; checks", len(PARSERS), len(PARSERS), unit="checks")
def parsers(scene, number, _):
    test, tags = PARSERS[number]
    return _checks_of(scene, test, [tags] if tags else [])
