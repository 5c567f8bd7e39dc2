"""What a run of the tests comes to: its last lines, and whether it passed."""
import dataclasses

from results import FAILED, PASSED, SKIPPED

MOST_FLAKY = 2

# A test with one of these labels starts processes and waits for them, so a busy machine can make it fail once.
STARTS_PROCESSES = {"hook", "integration", "cuda", "gpu", "doubles"}


def to_try_again(results, labels):
    """The names of the failed tests that get a second try. `labels` are those of each test by its name."""
    return [name for name, result in results.items() if result.state == FAILED and STARTS_PROCESSES & set(labels.get(name, ()))]


@dataclasses.dataclass
class Judgement:
    passed: list = dataclasses.field(default_factory=list)
    failed: list = dataclasses.field(default_factory=list)
    flaky: list = dataclasses.field(default_factory=list)
    skipped: list = dataclasses.field(default_factory=list)
    left_out: list = dataclasses.field(default_factory=list)  # pairs: why, the names

    @property
    def too_flaky(self):
        return len(self.flaky) > MOST_FLAKY

    @property
    def well(self):
        return not self.failed and not self.too_flaky

    def lines(self):
        """The last of them stands for the whole run, in the words that other programs read."""
        for result in self.passed:
            if result.reason:
                yield f"skipped in part: {result.name}: {result.reason}"
        for result in self.skipped:
            yield f"skipped: {result.name}: {result.reason}"
        for reason, names in self.left_out:
            yield f"left out: {', '.join(names)}: {reason}"
        for result in self.flaky:
            yield f"flaky: {result.name}: it failed, and passed when it ran alone" + (f": {result.reason}" if result.reason else "")
        for result in self.failed:
            yield f"failed: {result.name}" + (f": {result.reason}" if result.reason else "")
        if self.too_flaky:
            yield f"More than {MOST_FLAKY} tests were flaky, so they count as failed."
        failed = sum(max(result.failed, 1) for result in self.failed) + (len(self.flaky) if self.too_flaky else 0)
        passed = sum(result.cases for result in self.passed) + (0 if self.too_flaky else len(self.flaky))
        passed += sum(max(result.cases - max(result.failed, 1), 0) for result in self.failed)
        skipped = len(self.skipped) + sum(len(names) for _, names in self.left_out)
        yield f"{passed} passed, {failed} failed, {skipped} skipped"


def judge(first, second, left_out=()):
    """`first` and `second` are the results of the run and of the second tries, by name."""
    judgement = Judgement(left_out=[(reason, names) for reason, names in left_out if names])
    lists = {PASSED: judgement.passed, FAILED: judgement.failed, SKIPPED: judgement.skipped}
    for name, result in first.items():
        if result.state == FAILED and name in second and second[name].state == PASSED:
            judgement.flaky.append(result)
        else:
            lists[result.state].append(dataclasses.replace(result, reason=_of_both(result, second.get(name))))
    return judgement


def _of_both(first, second):
    if second is None or second.state != FAILED or second.reason in ("", first.reason):
        return first.reason
    return f"{first.reason}; alone: {second.reason}"
