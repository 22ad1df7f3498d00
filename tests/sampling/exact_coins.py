"""The exact distribution of what code does with random numbers: it is run for every way the numbers can fall.

The code asks a ``Coins`` for numbers and uses one at a time, and its decision runs from one end to the other as the
number does. So the pieces of each number's range are found by bisection on what the code did, not from what it should
do.
"""

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Callable, Hashable
from itertools import pairwise
from typing import NamedTuple

from engine.sampling import Coins, Purpose

CLOSE = 1e-13


class Observed(NamedTuple):
    """What a run gave, and every decision on the way there (which must tell apart all that coins can decide)."""

    outcome: tuple[int, ...]
    decisions: Hashable


Experiment = Callable[[Coins], Observed]
Key = tuple[int, Purpose]
Interval = tuple[float, float]


class _Script:
    """Coins that were fixed so far, one half for the others, and what was asked for, in order."""

    def __init__(self, fixed: dict[Key, Interval]) -> None:
        self.fixed = fixed
        self.asked: list[Key] = []

    def __call__(self, position: int, purpose: Purpose) -> float:
        key = position, purpose
        self.asked.append(key)
        start, stop = self.fixed.get(key, (0.0, 1.0))
        return (start + stop) / 2


def distribution(experiment: Experiment) -> dict[tuple[int, ...], float]:
    """The probability of each outcome."""
    masses: defaultdict[tuple[int, ...], float] = defaultdict(float)
    edges: list[float] = []

    def walk(fixed: dict[Key, Interval], use: int, mass: float) -> None:
        """Split the coin that the code uses next. One that it used before may need more pieces in its new place."""
        script = _Script(fixed)
        outcome, _ = experiment(script)
        if use == len(script.asked):
            masses[outcome] += mass
            return
        key = script.asked[use]
        whole = fixed.get(key, (0.0, 1.0))

        def decided(coin: float) -> Hashable:
            return experiment(_Script({**fixed, key: (coin, coin)})).decisions

        for start, stop in _pieces(decided, whole, edges):
            walk({**fixed, key: (start, stop)}, use + 1, mass * (stop - start) / (whole[1] - whole[0]))

    walk({}, 0, 1.0)
    return dict(masses)


def _pieces(decided: Callable[[float], Hashable], whole: Interval, edges: list[float]) -> list[Interval]:
    """The intervals in which ``decided`` does not change; edges that were found are tried first next time."""
    cuts: list[float] = []

    def split(start: float, at_start: Hashable, stop: float, at_stop: Hashable) -> None:
        if at_start == at_stop:
            return
        if stop - start < CLOSE:
            cuts.append(stop)
            return
        middle = _known(edges, start, stop)
        points = ((start + stop) / 2,) if middle is None else (middle - CLOSE / 4, middle + CLOSE / 4)
        for point in points:
            at_point = decided(point)
            split(start, at_start, point, at_point)
            start, at_start = point, at_point
        split(start, at_start, stop, at_stop)

    first, last = whole[0] + CLOSE / 4, whole[1] - CLOSE / 4
    split(first, decided(first), last, decided(last))
    for cut in cuts:
        if _known(edges, cut - CLOSE, cut + CLOSE) is None:
            insort(edges, cut)
    bounds = [whole[0], *cuts, whole[1]]
    return list(pairwise(bounds))


def _known(edges: list[float], start: float, stop: float) -> float | None:
    """The known edge in the middle of those well inside an interval."""
    low, high = bisect_left(edges, start + CLOSE), bisect_left(edges, stop - CLOSE)
    return edges[(low + high) // 2] if low < high else None


def total_variation(one: dict[tuple[int, ...], float], other: dict[tuple[int, ...], float]) -> float:
    """Half the sum of absolute differences."""
    return sum(abs(one.get(key, 0.0) - other.get(key, 0.0)) for key in one.keys() | other.keys()) / 2
