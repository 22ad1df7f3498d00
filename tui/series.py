"""What the screen must know of all rounds at once: one number a round, taken in as the rounds come, never again."""

import math
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from contextlib import suppress
from enum import IntFlag
from typing import NamedTuple

from engine.conditions.about import RollingMean, window_of
from engine.errors import TraceError
from engine.records import Round, RoundSource
from engine.stats import Stats, measured_plain_ms
from engine.whatif.observed import Observed
from tui.blocks import Blocks, spans, union
from tui.medians import EXACT, Medians

NEAR_TIE = 0.1
"""Logits. A decision whose two best choices are no further apart is shown as a near-tie."""
SLOW = 3.0
"""A round that took so many times the median of its kind, drafted or plain, is slow."""
_KNOWN = 16
"""Rounds of a kind before one of them can be slow."""


_KEYS = (
    *("form", "reason", "drafts", "n_drafts", "verified", "take", "emitted", "n_emitted", "cut", "limit"),
    *("gap", "ms", "fallback"),
)
"""What is read of a round in a file."""
_WIDEST = 2**32 - 1


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


class Stretch(NamedTuple):
    """Rounds ``start`` to ``stop``: the most tokens that one emitted, where that is known, and what is remarkable."""

    start: int
    stop: int
    most: int | None
    facts: int


class Paying(NamedTuple):
    """What a drafted round must yield to pay, and by how much it does."""

    break_even: float | None = None
    speedup: float | None = None


EVENTS = int(~Fact.PLAIN)
_PLAIN, _FLIP, _NONE, _ALL, _TIE, _SLOW = map(int, (Fact.PLAIN, Fact.FLIP, Fact.NONE, Fact.ALL, Fact.TIE, Fact.SLOW))
"""Plain integers, which are or-ed ten times as fast."""


class Series:
    """Per-round arrays of a source. ``take_in`` reads the next rounds, as many as it is allowed to.

    ``tokens`` and ``clock`` (milliseconds) hold running sums, one entry more than there are rounds. ``flip`` is the
    first round after which drafting was off, ``observed`` what another bar is asked of, ``top`` the most tokens that
    any round emitted, ``damage`` says why the next round cannot be read.
    """

    def __init__(self, source: RoundSource) -> None:
        self._source = source
        self.stats = Stats(phases=False)
        self.observed = Observed()
        self.tokens = array("q", [0])
        self.clock = array("d", [0.0])
        self.counts: Blocks[int] = Blocks(max, array("I"))
        self.facts: Blocks[int] = Blocks(union, array("H"))
        self.low: Blocks[float] = Blocks(min, array("f"))
        self.high: Blocks[float] = Blocks(max, array("f"))
        self.drafted_ms, self.plain_ms = Medians(), Medians()
        self.top = 1
        self.flip: int | None = None
        self.damage: str | None = None
        self.last_drafted = 0
        self._events = bytearray()
        self._said = 0
        self._ahead: dict[int, int] = {}
        self._off = False
        self._paid = Paying()
        self._paid_at = (0, False)
        self._overview: list[Stretch] = []
        self._overview_of = (-1, -1, -1, -1)
        self._marked = 0
        self._noted: dict[tuple[int, int], int | None] = {}
        self._mean = RollingMean(window_of(source.header))

    def __len__(self) -> int:
        return len(self._events)

    @property
    def total(self) -> int:
        """How many rounds there are: of a source that can be read, more than were taken in so far."""
        return len(self) if self.damage is not None else len(self._source)

    def most(self, start: int, stop: int) -> int | None:
        """The most tokens that one of rounds ``start`` to ``stop`` emitted; ``None`` where that is not known yet."""
        if stop <= len(self):
            return self.counts.over(start, stop)
        if (start, stop) not in self._noted:
            self._noted[start, stop] = self._noted_most(start, stop)
        return self._noted[start, stop]

    def overview(self, columns: int) -> list[Stretch]:
        """The whole run over at most so many columns; made anew only when more of it is known."""
        key = (len(self), self.total, self._marked, columns)
        if key != self._overview_of:
            if (self.total, columns) != (self._overview_of[1], self._overview_of[3]):
                self._noted.clear()
            self._overview_of = key
            self._overview = [
                Stretch(start, stop, self.most(start, stop), self.facts.over(start, stop) if stop <= len(self) else 0)
                for start, stop in spans(self.total, columns)
            ]
        return self._overview

    def _noted_most(self, start: int, stop: int) -> int | None:
        """What the source itself knows of rounds that were not read yet."""
        most: Callable[[int, int], int] | None = getattr(self._source, "most", None)
        with suppress(TraceError):
            return None if most is None else most(start, stop)
        return None

    @property
    def complete(self) -> bool:
        """Whether every round that the source holds was taken in, as far as it can be read."""
        return self.damage is not None or len(self) == len(self._source)

    def take_in(self, limit: int) -> int:
        """Read up to ``limit`` more rounds, and what was said so far; how many rounds were read."""
        start = len(self)
        stop = min(len(self._source), start + limit)
        try:
            for round_ in self._rounds(start, stop):
                self._add(round_)
            self._take_in_events()
        except TraceError as error:
            self.damage = str(error)
        return len(self) - start

    def _rounds(self, start: int, stop: int) -> Iterable[Round]:
        """The rounds, of a file only the keys that are needed; one by one where that is refused, up to the bad one."""
        part = getattr(self._source, "rounds", None)
        if part is not None and stop > start:
            with suppress(TraceError):
                whole: list[Round] = part(_KEYS, start, stop)
                return whole
        return map(self._source.round, range(start, stop))

    def mark(self, index: int, fact: Fact) -> None:
        """Say of a round, which may not be read yet, what it does not say itself."""
        if 0 <= index < len(self):
            self.facts.add(index, fact)
            self._events[index] = 1
            self._marked += 1
        elif index >= 0:
            self._ahead[index] = self._ahead.get(index, 0) | int(fact)

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
        count = round_.count
        mean = self._mean.add(round_)
        if mean is not None:
            self.last_drafted = len(self)
        self.stats.add(round_)
        self.observed.add(round_)
        self.tokens.append(self.tokens[-1] + count)
        slow = self._add_times(round_)
        self.counts.append(min(max(count, 0), _WIDEST))
        if mean is None or not math.isfinite(mean):
            self.low.append(math.inf)
            self.high.append(-math.inf)
        else:
            self.low.append(mean)
            self.high.append(mean)
        self.top = max(self.top, count)
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
        return _SLOW if usual is not None and whole > SLOW * usual else 0

    def _facts(self, round_: Round) -> int:
        facts = 0 if round_.drafted else _PLAIN
        off = round_.fallback.off if round_.fallback else round_.reason == "fallback"
        if off and not self._off:
            facts |= _FLIP
            self.flip = len(self) if self.flip is None else self.flip
        self._off = off
        if round_.in_batch and round_.take == 0 and round_.cut != "stop":
            facts |= _NONE
        if round_.drafted and round_.take == round_.drafted:
            facts |= _ALL
        for gap in (round_.gap or ())[: round_.take + 1]:
            if gap <= NEAR_TIE:
                return facts | _TIE
        return facts

    def _take_in_events(self) -> None:
        events = self._source.events()
        new, self._said = events[self._said :], len(events)
        for event in new:
            fact = {"warning": Fact.WARNING, "fault": Fact.FAULT}.get(event.level)
            if fact is not None and event.round is not None:
                self.mark(event.round, fact)
