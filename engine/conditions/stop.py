"""What to stop at: a condition, and at which of the rounds that meet it."""

import re

from engine.conditions.about import About
from engine.conditions.condition import Condition
from engine.conditions.kinds import BadCondition
from engine.records import Event, Round

FORMS = "take == 0 · take == 0 hit 3 (only the third) · take == 0 every 10"
_COUNT = re.compile(r"[,\s]+(hit|every)\s+(\d+)\s*\Z")


class Stop:
    """A condition as it was written, ``hit N`` (stop at the Nth round that meets it) or ``every N`` behind it.

    Raises:
        BadCondition: it cannot be read.
    """

    def __init__(self, text: str) -> None:
        counted = _COUNT.search(text)
        self.condition = Condition(text[: counted.start()] if counted else text)
        self.every = counted is not None and counted[1] == "every"
        self.count = int(counted[2]) if counted else 1
        if self.count == 0 or self.count > 10**9:
            place = text.rindex(counted[2]) if counted else 0
            raise BadCondition("hits are counted from 1", place + 1, text)
        self.counted = counted is not None
        self.text = self.condition.text + (f" {counted[1]} {self.count}" if counted else "")

    @property
    def audited(self) -> bool:
        """Whether its ``About`` must run the audit."""
        return self.condition.audited

    def stops(self, number: int) -> bool:
        """Whether to stop at the ``number``-th round that meets the condition, from 1."""
        if not self.counted:
            return True
        return number % self.count == 0 if self.every else number == self.count


class Lookout:
    """Looks at the rounds of a run as they are made, from the first on. ``hits`` of them met the condition."""

    def __init__(self, stop: Stop, about: About) -> None:
        self._stop = stop
        self._about = about
        self._said = 0
        self.hits = 0

    def stops_at(self, round_: Round, events: tuple[Event, ...]) -> bool:
        """Whether to stop at the next round; ``events`` is all that was said so far."""
        self._about.hear(events[self._said :])
        self._said = len(events)
        met = self._stop.condition.met(round_, self._about)
        self.hits += met
        return met and self._stop.stops(self.hits)
