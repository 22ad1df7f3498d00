"""One pass over a trace's rounds: what a plot of the fallback and a table of figures need."""

import math
from array import array
from dataclasses import dataclass, field
from typing import Any

import msgspec

from engine.fallback import SpecFallback
from engine.options import Options
from engine.records import Round
from engine.stats import READ, Stats
from engine.trace.reader import Trace


@dataclass
class Series:
    """By round: tokens emitted, the rolling mean after it (NaN where there is none), and whether it was plain.

    ``flip`` is the index of the round that switched drafting off; ``bar`` is 0 where there is none.
    """

    bar: float = 0.0
    window: int = 3
    flip: int | None = None
    counts: "array[int]" = field(default_factory=lambda: array("L"))
    means: "array[float]" = field(default_factory=lambda: array("d"))
    plain: bytearray = field(default_factory=bytearray)
    stats: Stats = field(default_factory=Stats)


class Rolling:
    """The fallback's state after each round: as recorded, else by the rule from the counts and the options."""

    def __init__(self, options: dict[str, Any]) -> None:
        known = {key: options[key] for key in ("fallback_below", "fallback_window") if key in options}
        try:
            read = msgspec.convert(known, _Bar)
        except msgspec.ValidationError:
            read = _Bar()
        self.bar = max(0.0, read.fallback_below)
        self.window = max(1, read.fallback_window)
        self.off = False
        self._rule = SpecFallback(self.bar, self.window)

    def after(self, round_: Round) -> float | None:
        """The mean after ``round_``, ``None`` where there is none yet."""
        if round_.form != "plain" or round_.reason == "zero-draft":
            self._rule.record(round_.count)
        state = self._rule.window() if round_.fallback is None else round_.fallback
        self.off = self.off or state.off
        return state.mean


class _Bar(msgspec.Struct):
    fallback_below: float = 0.0
    fallback_window: int = Options().fallback_window


def series_of(trace: Trace) -> Series:
    """Read all rounds once. Raises ``TraceError``."""
    rolling = Rolling(trace.header.options)
    made = Series(bar=rolling.bar, window=rolling.window)
    for index, round_ in enumerate(trace.each((*READ, "fallback"))):
        made.stats.add(round_)
        made.counts.append(max(0, round_.count))
        mean = rolling.after(round_)
        stale = rolling.off and round_.form == "plain"
        made.means.append(math.nan if mean is None or stale else mean)
        made.plain.append(round_.form == "plain")
        if rolling.off and made.flip is None:
            made.flip = index
    return made
