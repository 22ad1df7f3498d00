"""What the screen must know of all rounds at once: one number a round, taken in as the rounds come, never again."""

import math
from array import array
from bisect import bisect_left, bisect_right
from collections import deque
from enum import IntFlag
from typing import NamedTuple

from engine.errors import TraceError
from engine.records import Round, RoundSource
from engine.stats import Stats, measured_plain_ms
from engine.whatif.observed import Observed
from tui.blocks import Blocks, union
from tui.medians import EXACT, Medians

NEAR_TIE = 0.1
"""Logits. A decision whose two best choices are no further apart is shown as a near-tie."""
SLOW = 3.0
"""A round that took so many times the median of its kind, drafted or plain, is slow."""
_KNOWN = 16
"""Rounds of a kind before one of them can be slow."""


class Fact(IntFlag):
    """What is remarkable about a round."""

    PLAIN = 1
    FLIP = 2
    NONE = 4
    ALL = 8
    TIE = 16
    WARNING = 32
    FAULT = 64
    FINDING = 128
    SLOW = 256


class Paying(NamedTuple):
    """What a drafted round must yield to pay, and by how much it does."""

    break_even: float | None = None
    speedup: float | None = None


EVENTS = ~Fact.PLAIN


class Series:
    """Per-round arrays of a source. ``take_in`` reads the next rounds, as many as it is allowed to.

    ``tokens`` and ``clock`` (milliseconds) hold running sums, one entry more than there are rounds. ``flip`` is the
    first round after which drafting was off, ``observed`` what another bar is asked of, ``top`` the most tokens that
    any round emitted, ``damage`` says why the next round cannot be read.
    """

    def __init__(self, source: RoundSource) -> None:
        self._source = source
        self.stats = Stats()
        self.observed = Observed()
        self.tokens = array("q", [0])
        self.clock = array("d", [0.0])
        self.counts: Blocks[int] = Blocks(max, array("l"))
        self.facts: Blocks[int] = Blocks(union, array("H"))
        self.low: Blocks[float] = Blocks(min, array("d"))
        self.high: Blocks[float] = Blocks(max, array("d"))
        self.drafted_ms, self.plain_ms = Medians(), Medians()
        self.top = 1
        self.flip: int | None = None
        self.damage: str | None = None
        self.last_drafted = 0
        self._events = bytearray()
        self._said = 0
        self._ahead: dict[int, Fact] = {}
        self._off = False
        self._paid = Paying()
        self._paid_at = (0, False)
        self._window = deque[int](maxlen=max(1, window_of(source)))

    def __len__(self) -> int:
        return len(self._events)

    @property
    def complete(self) -> bool:
        """Whether every round that the source holds was taken in, as far as it can be read."""
        return self.damage is not None or len(self) == len(self._source)

    def take_in(self, limit: int) -> int:
        """Read up to ``limit`` more rounds, and what was said so far; how many rounds were read."""
        start = len(self)
        stop = min(len(self._source), start + limit)
        try:
            for i in range(start, stop):
                self._add(self._source.round(i))
            self._take_in_events()
        except TraceError as error:
            self.damage = str(error)
        return len(self) - start

    def mark(self, index: int, fact: Fact) -> None:
        """Say of a round, which may not be read yet, what it does not say itself."""
        if 0 <= index < len(self):
            self.facts.add(index, fact)
            self._events[index] = 1
        elif index >= 0:
            self._ahead[index] = self._ahead.get(index, Fact(0)) | fact

    def mean(self, index: int) -> float | None:
        """The rolling mean of tokens a round after a round; ``None`` for a round that is not in the window."""
        value = self.low.values[index]
        return value if math.isfinite(value) else None

    @property
    def break_even(self) -> float | None:
        """The tokens a round that pay for a drafted round, over all rounds taken in."""
        return self._paying().break_even

    @property
    def speedup(self) -> float | None:
        """Mean tokens a round over the break-even."""
        return self._paying().speedup

    def next_event(self, index: int) -> int | None:
        """The first round after ``index`` with an event."""
        found = self._events.find(1, index + 1)
        return found if found >= 0 else None

    def previous_event(self, index: int) -> int | None:
        """The last round before ``index`` with an event."""
        found = self._events.rfind(1, 0, max(index, 0))
        return found if found >= 0 else None

    def round_of_token(self, token: int) -> int | None:
        """The round that emitted token number ``token``, counted from 0."""
        found = bisect_right(self.tokens, token) - 1
        return found if 0 <= found < len(self) else None

    def round_at(self, seconds: float) -> int:
        """The round that was running at a time since the first round began; the last one beyond the end."""
        return min(max(bisect_left(self.clock, seconds * 1000) - 1, 0), len(self) - 1)

    def _paying(self) -> "Paying":
        end, prefill = self._source.end, self._source.prefill
        key = (len(self), end is not None)
        if key != self._paid_at and (len(self) <= EXACT or end is not None or len(self) >= self._paid_at[0] * 9 // 8):
            measured = measured_plain_ms(prefill, end)
            self._paid = Paying(self.stats.break_even(measured), self.stats.speedup(measured))
            self._paid_at = key
        return self._paid

    def _add(self, round_: Round) -> None:
        drafted = round_.drafted > 0
        if drafted or round_.reason == "zero-draft":
            self._window.append(round_.count)
            recorded = round_.fallback.mean if round_.fallback else None
            mean = sum(self._window) / len(self._window) if recorded is None else recorded
            self.last_drafted = len(self)
        else:
            mean = math.nan
        self.stats.add(round_)
        self.observed.add(round_)
        self.tokens.append(self.tokens[-1] + round_.count)
        slow = self._add_times(round_)
        self.counts.append(round_.count)
        known = math.isfinite(mean)
        self.low.append(mean if known else math.inf)
        self.high.append(mean if known else -math.inf)
        self.top = max(self.top, round_.count)
        facts = self._facts(round_) | slow | self._ahead.pop(len(self), 0)
        self.facts.append(facts)
        self._events.append(1 if facts & EVENTS else 0)

    def _add_times(self, round_: Round) -> int:
        ms = round_.ms or {}
        whole = sum(ms.values())
        self.clock.append(self.clock[-1] + whole)
        if not ms:
            return 0
        medians = self.drafted_ms if round_.drafted else self.plain_ms
        for phase, value in ms.items():
            medians.add(phase, value)
        medians.add("total", whole)
        usual = medians.roughly("total", _KNOWN)
        return int(Fact.SLOW) if usual is not None and whole > SLOW * usual else 0

    def _facts(self, round_: Round) -> int:
        facts = 0 if round_.drafted else int(Fact.PLAIN)
        off = round_.fallback.off if round_.fallback else round_.reason == "fallback"
        if off and not self._off:
            facts |= Fact.FLIP
            self.flip = len(self) if self.flip is None else self.flip
        self._off = off
        if round_.in_batch and round_.take == 0 and round_.cut != "stop":
            facts |= Fact.NONE
        if round_.drafted and round_.take == round_.drafted:
            facts |= Fact.ALL
        if any(gap <= NEAR_TIE for gap in (round_.gap or ())[: round_.take + 1]):
            facts |= Fact.TIE
        return facts

    def _take_in_events(self) -> None:
        events = self._source.events()
        new, self._said = events[self._said :], len(events)
        for event in new:
            fact = {"warning": Fact.WARNING, "fault": Fact.FAULT}.get(event.level)
            if fact is not None and event.round is not None:
                self.mark(event.round, fact)


def window_of(source: RoundSource) -> int:
    """How many rounds the rolling mean is over."""
    size = source.header.options.get("fallback_window", 3)
    return size if isinstance(size, int) and size > 0 else 3
