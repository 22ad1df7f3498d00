"""Goes through the rounds of a source, first to last, and keeps which meet a condition."""

from array import array
from bisect import bisect_left, bisect_right
from contextlib import suppress

from engine.conditions.about import About
from engine.conditions.condition import Condition
from engine.errors import TraceError
from engine.records import Round, RoundSource
from engine.trace.reader import Trace


class Scan:
    """The rounds of ``source`` that meet ``condition``, as far as they were looked at: ``hits``, in order.

    The first ``seen`` rounds were looked at; of a trace only the keys that are needed are read. ``advance`` looks at
    more, and raises ``TraceError`` at one that cannot be read. Rounds before ``start`` are left out, which a condition
    that asks for the past does not allow.
    """

    def __init__(self, source: RoundSource, condition: Condition, start: int = 0) -> None:
        self.condition = condition
        self.hits = array("Q")
        self.seen = start
        self._source = source
        self._said = 0
        self._about = About(source.header, source.prefill, source.piece, audited=condition.audited)

    @property
    def complete(self) -> bool:
        """Whether every round that the source holds was looked at."""
        return self.seen >= len(self._source)

    def advance(self, limit: int) -> int:
        """Look at up to ``limit`` more rounds; how many there were."""
        source, condition, about, start = self._source, self.condition, self._about, self.seen
        stop = min(len(source), start + limit)
        if stop <= start:
            return 0
        if "index" in condition.needs:
            events = source.events()
            about.hear(events[self._said :])
            self._said = len(events)
        rounds: list[Round] | None = None
        if isinstance(source, Trace) and not condition.audited:
            with suppress(TraceError):
                rounds = source.rounds(condition.needs, start, stop)
        if rounds is None:
            for i in range(start, stop):
                self._take(source.round(i), i)
            return stop - start
        met = condition.met if condition.past else condition.holds
        self.hits.extend([i for i, round_ in enumerate(rounds, start) if met(round_, about)])
        self.seen = stop
        return stop - start

    def _take(self, round_: Round, index: int) -> None:
        if self.condition.met(round_, self._about):
            self.hits.append(index)
        self.seen = index + 1

    def after(self, index: int) -> int | None:
        """The first hit behind a round, of those found so far."""
        place = bisect_right(self.hits, index)
        return self.hits[place] if place < len(self.hits) else None

    def before(self, index: int) -> int | None:
        """The last hit before a round, of those found so far."""
        place = bisect_left(self.hits, index)
        return self.hits[place - 1] if place else None

    def number(self, index: int) -> int | None:
        """Of a hit: the how manieth it is, from 1."""
        place = bisect_left(self.hits, index)
        return place + 1 if place < len(self.hits) and self.hits[place] == index else None
