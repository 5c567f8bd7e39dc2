"""How the tests of one run of ctest ended, read from its JUnit file.

CTest writes "notrun" for a test that asked to be skipped as well as for one whose program is missing; only its words tell
the two apart. A program of Catch2's is one test of CTest with many cases: they are counted, and those that failed are named,
as its console reporter (releases 2 and 3) writes them. So are those of a file of unittest, each with the first line of what
went wrong: the rest may be cut off where somebody else runs the tests.
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
    cases: int = 1  # how many it stands for
    failed: int = 0  # how many of these failed, where it says so


def read_results(text):
    """The results by name, in the order of the file."""
    cases = ElementTree.fromstring(text).iter("testcase")
    return {result.name: result for result in map(_result, cases)}


def _result(case):
    name, status, output = case.get("name"), case.get("status"), case.findtext("system-out") or ""
    if status == "run":
        return Result(name, PASSED, _left_out_within(output) or _warned_within(output), cases=_cases_within(output)[0])
    if status == "disabled":
        return Result(name, SKIPPED, "it is disabled")
    skipped = case.find("skipped")
    words = "" if skipped is None else skipped.get("message", "")
    if words.startswith("SKIP_"):
        return Result(name, SKIPPED, _why_skipped(output))
    cases, failed = _cases_within(output)
    names = _failed_within(output)
    return Result(name, FAILED, "; ".join(names) or words, cases, failed)


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


def _cases_within(output):
    """How many cases a program of Catch2's played, and how many of them failed; (1, 0) for any other test."""
    if passed := re.search(r"^All tests passed \(\d+ assertions? in (\d+) test cases?\)$", output, re.MULTILINE):
        return int(passed[1]), 0
    if some := re.search(r"^test cases:\s+(\d+) .*\b(\d+) failed", output, re.MULTILINE):
        return int(some[1]), int(some[2])
    return 1, 0


BLOCK = re.compile(r"^-{79}\n((?:(?!-{79}).+\n)+)-{79}\n.+\n\.{79}\n((?:(?!-{79}|={79}).*\n)*)", re.MULTILINE)


UNITTEST_BLOCK = re.compile(r"^={70}\n(?:FAIL|ERROR): (\S+).*\n(?:.*\n)*?-{70}\n((?:.*\n)*?)(?=^={70}$|^-{70}$)", re.MULTILINE)
LONGEST_REASON = 400


def _why_failed(traceback):
    said = [line for line in traceback.splitlines() if line and not line.startswith((" ", "Traceback "))]
    return said[0][:LONGEST_REASON] if said else "it does not say why"


def _failed_within(output):
    """The names of a program's failed cases, with their sections; a block without a failure is a warning."""
    if told := [f"{name}: {_why_failed(traceback)}" for name, traceback in UNITTEST_BLOCK.findall(output)]:
        return told
    # A long name goes on in the next line; a section is indented.
    names = [re.sub(r"\n +", " / ", name.strip()).replace("\n", " ") for name, text in BLOCK.findall(output) if "FAILED:" in text]
    return list(dict.fromkeys(names))


def _warned_within(output):
    """What cases left out: a warning that begins with SKIPPED."""
    return "; ".join(dict.fromkeys(re.findall(r"^  SKIPPED: (.+)$", output, re.MULTILINE)))
