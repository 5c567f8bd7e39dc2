"""How the tests of one run of ctest ended, read from its JUnit file.

CTest writes "notrun" for a test that asked to be skipped as well as for one whose program is missing; only its words tell
the two apart.
"""
import dataclasses
import re
import xml.etree.ElementTree as ElementTree

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


@dataclasses.dataclass(frozen=True)
class Result:
    name: str
    state: str
    reason: str = ""  # why it was skipped, how it failed, or what it left out although it passed


def read_results(text):
    """The results by name, in the order of the file."""
    cases = ElementTree.fromstring(text).iter("testcase")
    return {result.name: result for result in map(_result, cases)}


def _result(case):
    name, status, output = case.get("name"), case.get("status"), case.findtext("system-out") or ""
    if status == "run":
        return Result(name, PASSED, _left_out_within(output))
    if status == "disabled":
        return Result(name, SKIPPED, "it is disabled")
    skipped = case.find("skipped")
    words = "" if skipped is None else skipped.get("message", "")
    if words.startswith("SKIP_"):
        return Result(name, SKIPPED, _why_skipped(output))
    return Result(name, FAILED, words)


def _why_skipped(output):
    said = re.findall(r"^skipped: (.+)$", output, re.MULTILINE)
    return said[-1].strip() if said else "it does not say why"


def _left_out_within(output):
    """What a file of unittest skipped while it passed: "2 of 30: there is no GPU"."""
    total = re.search(r"^Ran (\d+) tests? in .*\s+OK \(.*skipped=(\d+)", output, re.MULTILINE)
    if not total:
        return ""
    reasons = dict.fromkeys(re.findall(r"\.\.\. skipped ['\"](.*)['\"]$", output, re.MULTILINE))
    return f"{total[2]} of {total[1]}" + (f": {'; '.join(reasons)}" if reasons else "")
