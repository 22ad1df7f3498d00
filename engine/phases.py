"""The time of a round, phase by phase."""

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class Phases:
    """Milliseconds by phase, added up over a round. ``clock`` gives seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._ms: dict[str, float] = {}

    def time(self, phase: str, work: Callable[[], T]) -> T:
        """What ``work`` returns; its time is added to ``phase``."""
        began = self._clock()
        result = work()
        self._ms[phase] = self._ms.get(phase, 0.0) + (self._clock() - began) * 1000
        return result

    def upto(self, began: float) -> dict[str, float]:
        """The phases with ``other``, so that they add up to the time since ``began``."""
        wall = (self._clock() - began) * 1000
        return {**self._ms, "other": max(0.0, wall - sum(self._ms.values()))}
