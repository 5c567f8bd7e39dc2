"""What it is to try a promise: an experiment, its trials, and the row that they give."""

import collections
import dataclasses
import random
import subprocess

from promises.scene import Scene

EXPERIMENTS = []


class Broken(AssertionError):
    """What was promised did not hold."""


class Untried(Exception):
    """Why it cannot be tried here."""


@dataclasses.dataclass
class Experiment:
    promise: str
    what: str
    attempt: collections.abc.Callable  # (scene, number, dice) -> the figure of that trial, or nothing; raises Broken
    trials: int
    most: int  # with --soak
    unit: str
    peers: tuple  # who can be asked for the same


@dataclasses.dataclass
class Row:
    promise: str
    what: str
    trials: int
    failures: int
    worst: str
    peers: dict
    first_failure: str = ""


def tries(promise, what, trials, most=None, unit="", peers=()):
    """Registers a function that tries a promise once."""
    def register(attempt):
        EXPERIMENTS.append(Experiment(promise, what, attempt, trials, most or 20 * trials, unit, peers))
        return attempt
    return register


def expect(holds, otherwise):
    if not holds:
        raise Broken(otherwise)


def _once(experiment, place, launcher, number):
    """(what is wrong or "", the figure or None)"""
    with Scene(place, launcher) as scene:
        try:
            return "", experiment.attempt(scene, number, random.Random(f"{experiment.what} {number}"))
        except (AssertionError, OSError, subprocess.SubprocessError, ValueError, LookupError) as wrong:
            return f"trial {number}: {str(wrong) or repr(wrong)}", None


def try_it(experiment, place, launcher, trials):
    """(trials, [what went wrong], the worst figure)"""
    ends = [_once(experiment, place, launcher, number) for number in range(trials)]
    figures = [figure for _, figure in ends if figure is not None]
    return trials, [wrong for wrong, _ in ends if wrong], max(figures, default=None)


def _peers_word(experiment, place, peer, trials):
    if peer.name not in experiment.peers:
        return "-"
    if not peer.installed:
        return "not installed"
    count, wrong, worst = try_it(experiment, place, peer, min(trials, peer.trials))
    return f"{len(wrong)} of {count}" + (f", {worst:.3g} {experiment.unit}" if worst is not None else "")


def row_of(experiment, place, launcher, peers, trials):
    """The row of one experiment; where it cannot be tried here, its worst case says why."""
    try:
        count, wrong, worst = try_it(experiment, place, launcher, trials)
        words = {peer.name: _peers_word(experiment, place, peer, trials) for peer in peers}
    except Untried as why:
        return Row(experiment.promise, experiment.what, 0, 0, f"not tried: {why}", {})
    worst = "-" if worst is None else f"{worst:.3g} {experiment.unit}"
    return Row(experiment.promise, experiment.what, count, len(wrong), worst, words, wrong[0] if wrong else "")
