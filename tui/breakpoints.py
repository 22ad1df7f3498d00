"""Breakpoints: conditions over rounds, the rounds that meet them, and which of these to stop at. No Textual in here."""

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, NamedTuple

from engine.conditions import BadCondition, Condition, Stop
from engine.errors import TraceError
from engine.records import RoundSource

if TYPE_CHECKING:
    from engine.conditions.scan import Scan

AT_ONCE = 1024
"""Rounds that are looked at between two looks at the clock."""


class Breakpoint:
    """One breakpoint over one source. ``broken`` says why no more of its rounds can be looked at."""

    def __init__(self, number: int, stop: Stop) -> None:
        self.number = number
        self.enabled = True
        self.broken = ""
        self._source: RoundSource | None = None
        self._scan: Scan | None = None
        self.stop = stop

    @property
    def seen(self) -> int:
        """How many rounds were looked at, from the first on."""
        return 0 if self._scan is None else self._scan.seen

    @property
    def complete(self) -> bool:
        """Whether there is no round to be looked at now."""
        return bool(self.broken) or self._scan is None or self._scan.complete

    @property
    def hits(self) -> int:
        """How many rounds met the condition, of those looked at."""
        return 0 if self._scan is None else len(self._scan.hits)

    def look_at(self, source: RoundSource | None) -> None:
        """Begin at the first round of a source."""
        self._source, self.broken = source, ""
        self._scan = None
        if source is not None:
            from engine.conditions.scan import Scan  # noqa: PLC0415 (numpy: after the first paint)

            self._scan = Scan(source, self.stop.condition)

    def change(self, stop: Stop) -> None:
        """Another condition, looked at from the first round on."""
        self.stop = stop
        self.look_at(self._source)

    def go_on(self, limit: int) -> None:
        """Look at more rounds."""
        try:
            if self._scan is not None:
                self._scan.advance(limit)
        except TraceError as error:
            self.broken = str(error)

    def hit_at(self, index: int) -> "Hit | None":
        """The hit at a round, if it is one."""
        number = None if self._scan is None else self._scan.number(index)
        return None if number is None else Hit(self, number, index)

    def after(self, index: int, *, counted: bool) -> "Hit | None":
        """The first hit behind a round; with ``counted`` the first to stop at."""
        hits = () if self._scan is None else self._scan.hits
        number = bisect_right(hits, index) + 1
        if counted and self.stop.counted:
            count = self.stop.count
            number = -(-number // count) * count if self.stop.every else count if number <= count else len(hits) + 1
        return Hit(self, number, hits[number - 1]) if number <= len(hits) else None

    def before(self, index: int, *, counted: bool) -> "Hit | None":
        """The last hit before a round; with ``counted`` the last to stop at."""
        hits = () if self._scan is None else self._scan.hits
        number = bisect_left(hits, index)
        if counted and self.stop.counted:
            count = self.stop.count
            number = number // count * count if self.stop.every else count if number >= count else 0
        return Hit(self, number, hits[number - 1]) if number else None


class Hit(NamedTuple):
    """The ``number``-th round, from 1, that meets a breakpoint's condition, and which round that is."""

    breakpoint: Breakpoint
    number: int
    round: int

    def __str__(self) -> str:
        return f"breakpoint {self.breakpoint.number}: {self.breakpoint.stop.text}, hit {self.number}"


class Answer(NamedTuple):
    """The nearest hit in a direction; while not ``known`` there may be a nearer one that was not looked at yet."""

    hit: Hit | None
    known: bool


class Breakpoints:
    """All breakpoints, in the order of their numbers, over the source that is looked at."""

    def __init__(self) -> None:
        self.all: list[Breakpoint] = []
        self._source: RoundSource | None = None
        self._made = 0

    @property
    def enabled(self) -> list[Breakpoint]:
        """Those that count."""
        return [each for each in self.all if each.enabled]

    @property
    def complete(self) -> bool:
        """Whether every round was looked at."""
        return all(each.complete for each in self.all)

    @property
    def seen(self) -> int:
        """How many rounds all that count have looked at."""
        return min((each.seen for each in self.enabled), default=0)

    def look_at(self, source: RoundSource) -> None:
        """Another source: all of its rounds are to be looked at."""
        self._source = source
        for each in self.all:
            each.look_at(source)

    def add(self, text: str) -> Breakpoint:
        """A new one.

        Raises:
            BadCondition: it cannot be read.
        """
        made = Breakpoint(self._made + 1, Stop(text))
        self._made += 1
        made.look_at(self._source)
        self.all.append(made)
        return made

    def remove(self, each: Breakpoint) -> None:
        """One less."""
        self.all.remove(each)

    def of(self, text: str) -> Breakpoint | None:
        """The one with this text, if there is one."""
        return next((each for each in self.all if each.stop.text == text), None)

    def go_on(self) -> bool:
        """Look at some more rounds, where the fewest were looked at; whether there were any."""
        behind = [each for each in self.all if not each.complete]
        if not behind:
            return False
        min(behind, key=lambda each: (not each.enabled, each.seen)).go_on(AT_ONCE)
        return True

    def at(self, index: int) -> list[Hit]:
        """The hits at a round."""
        return [hit for each in self.enabled if (hit := each.hit_at(index)) is not None]

    def stop_at(self, index: int) -> Hit | None:
        """The first hit at a round that is one to stop at."""
        return next((hit for hit in self.at(index) if hit.breakpoint.stop.stops(hit.number)), None)

    def ahead(self, index: int, *, counted: bool = True) -> Answer:
        """The nearest hit behind a round."""
        found = [hit for each in self.enabled if (hit := each.after(index, counted=counted)) is not None]
        nearest = min(found, key=lambda hit: hit.round, default=None)
        known = all(each.complete or (nearest is not None and each.seen > nearest.round) for each in self.enabled)
        return Answer(nearest, known)

    def behind(self, index: int, *, counted: bool = True) -> Answer:
        """The nearest hit before a round."""
        found = [hit for each in self.enabled if (hit := each.before(index, counted=counted)) is not None]
        nearest = max(found, key=lambda hit: hit.round, default=None)
        return Answer(nearest, all(each.complete or each.seen >= index for each in self.enabled))

    def until(self) -> str | None:
        """One condition that is met wherever one of those that count is; ``None`` where it would be too long."""
        text = " or ".join(f"({each.stop.condition.text})" for each in self.enabled)
        try:
            return Condition(text).text if text else "end"
        except BadCondition:
            return None
