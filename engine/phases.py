"""The time of a round, phase by phase."""

from collections.abc import Callable


class Phases:
    """Milliseconds by phase, added up over a round. Where one ends the next begins, so that they add up to all of it.

    ``clock`` gives seconds.
    """

    __slots__ = ("_clock", "_since", "ms")

    def __init__(self, clock: Callable[[], float]) -> None:
        self.ms: dict[str, float] = {}
        self._clock = clock
        self._since = clock()

    def end(self, phase: str) -> None:
        """What went on since the last end was ``phase``."""
        now, ms = self._clock(), self.ms
        ms[phase] = ms.get(phase, 0.0) + (now - self._since) * 1000
        self._since = now
