"""How far an opening is, stage by stage: what is known, and what an earlier opening of the same lets one expect."""

import time
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import NamedTuple

from engine.stages import Stage

_ALMOST = 0.97
"""A stage that takes longer than the last time is never shown as done before it is."""


class Share(NamedTuple):
    """How much is done, 0 to 1: ``estimated`` by the times of an earlier opening, or else counted in bytes."""

    value: float
    estimated: bool


class Timed(NamedTuple):
    """A stage and the seconds that it took, or takes so far where it is not ``over``."""

    stage: Stage
    seconds: float
    over: bool


class Loading:
    """Looks at ``stages``, those so far and the last of them still at work, and notes when each was first seen.

    ``earlier`` are the seconds that each stage took the last time, by its name, in their order. It may be looked at
    from several threads.
    """

    def __init__(
        self,
        stages: Callable[[], Sequence[Stage]],
        earlier: Mapping[str, float] = {},
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.earlier = earlier
        self._stages = stages
        self._clock = clock
        self._began = clock()
        self._begun: list[float] = []
        self._looking = Lock()

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return self._clock() - self._began

    def look(self) -> list[Timed]:
        """All stages so far."""
        with self._looking:
            stages, now = self._stages(), self._clock()
            while len(self._begun) < len(stages):
                self._begun.append(now if self._begun else self._began)
        ends = [*self._begun[1:], now]
        return [
            Timed(each, end - begun, over=i + 1 < len(stages))
            for i, (each, begun, end) in enumerate(zip(stages, self._begun, ends, strict=False))
        ]

    def share(self) -> Share | None:
        """How much of all is done, where there was an earlier opening; else of the stage at work, where that is known.

        ``None`` where neither can be said.
        """
        timed = self.look()
        if not timed:
            return None
        stage, seconds, _ = timed[-1]
        known = stage.done / stage.total if stage.total else None
        total = sum(self.earlier.values())
        expected = self.earlier.get(name_of(stage))
        if total <= 0 or expected is None:
            return None if known is None else Share(known, estimated=False)
        before = 0.0
        for name, took in self.earlier.items():
            if name == name_of(stage):
                break
            before += took
        part = known if known is not None else min(seconds / expected, _ALMOST) if expected > 0 else 0.0
        return Share(min((before + part * expected) / total, 1.0), estimated=True)

    def times(self) -> dict[str, float]:
        """Seconds by stage, to be kept for the next time, when the last stage is over just now."""
        found: dict[str, float] = {}
        for stage, seconds, _ in self.look():
            found[name_of(stage)] = found.get(name_of(stage), 0.0) + seconds
        return found


def name_of(stage: Stage) -> str:
    """What a stage is called, without what differs from run to run: "reading the prompt, 37 tokens" is a prompt."""
    return stage.text.split(",", 1)[0]


def amount(stage: Stage) -> str:
    """How far a stage is, in words: "120 of 541 MB"; empty where that is not known."""
    if not stage.total:
        return ""
    unit, name = (1e9, "GB") if stage.total >= 1e10 else (1e6, "MB") if stage.total >= 1e6 else (1e3, "kB")
    return f"{stage.done / unit:,.0f} of {stage.total / unit:,.0f} {name}"


def bar(share: float, cells: int, full: str, empty: str) -> str:
    """A bar of ``cells``, as much of it ``full`` as is done."""
    done = min(cells, int(share * cells))
    return full * done + empty * (cells - done)


def drifting(seconds: float, cells: int, full: str, empty: str) -> str:
    """A bar for what is not known: a piece that goes to and fro and says no number."""
    piece = max(1, cells // 5)
    way = max(1, cells - piece)
    step = int(seconds * 10) % (2 * way)
    at = min(step if step <= way else 2 * way - step, cells - piece)
    return empty * at + full * piece + empty * (cells - piece - at)
