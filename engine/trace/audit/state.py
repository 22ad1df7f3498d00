"""A14: the state is as long as the text."""

from typing import Any

from engine.records import Round
from engine.trace.audit.finding import Findings, Rules

_CACHE = 64
"""A drafter's cache of fewer positions is not taken for a full one when it stops growing."""


class StateLengths(Rules):
    """``kv_len`` and ``recurrent`` equal ``consumed``; ``draft_len`` follows it by a constant convention.

    Conventions that are taken for granted: a fixed distance to ``consumed`` (a drafter that catches up at once, an MTP
    head that runs one behind), a fixed distance to the ``pos`` of the last round that drafted (one that catches up when
    it drafts next), either of them standing still while nothing is drafted, and a cache that is full. What fits none of
    them drifts.
    """

    def __init__(self) -> None:
        self._follower = _Follower()

    def round(self, round_: Round, found: Findings) -> None:
        state, pos, emitted = round_.state, round_.pos, round_.emitted
        if state is None:
            return
        # Where both are known, ``consumed`` is A7's to check: the state must be as long as the text.
        held = round_.consumed if pos is None else pos + (round_.count if emitted is None else len(emitted))
        if held is None:
            return
        if state.get("kv_len") != held or "recurrent" in state:
            _compare(round_, state, held, found)
        length = state.get("draft_len")
        if length is not None and isinstance(length, int) and not self._follower.goes_on(length, held):
            expected = self._follower.expected(round_, length, held)
            if expected is not None:
                self._drafter_is_off(round_, length, expected, found)

    def _drafter_is_off(self, round_: Round, length: int, expected: int, found: Findings) -> None:
        found.add(
            "A14",
            round_.index,
            "state.draft_len",
            length,
            expected,
            f"after round {round_.index} the drafter's state holds {length} positions where it held its distance to "
            f"the base until now and should hold {expected}: it drifts by {length - expected}; look at how the "
            "drafter's cache is trimmed after a rejection",
        )


class _Follower:
    """The conventions that the lengths seen so far still fit."""

    def __init__(self) -> None:
        self._last: int | None = None
        self._to_end: int | None = None
        self._to_start: int | None = None
        self._by_end = self._by_start = True
        self._full = False

    def goes_on(self, length: int, held: int) -> bool:
        """Whether this is the distance to the end that alone was left as a convention: the usual case."""
        if not self._by_end or self._by_start or self._full or length - held != self._to_end:
            return False
        self._last = length
        return True

    def expected(self, round_: Round, length: int, held: int) -> int | None:
        """What the length should have been if it breaks the convention, else ``None``."""
        last, self._last = self._last, length
        pos = round_.pos if round_.pos is not None else held - round_.count
        drafted = round_.form != "plain" or round_.reason == "zero-draft"
        if self._to_end is None:
            self._to_end = length - held
        if self._full:
            return None if length == last else self._go_on(length, held, pos)
        if self._by_start and drafted:
            if self._to_start is None:
                self._to_start = length - pos
            self._by_start = length - pos == self._to_start
        if length - held == self._to_end and self._by_end:
            return None
        if not drafted and (length == last or length - pos == self._to_start):
            return None
        if self._by_start and drafted:
            self._by_end = False
            return None
        if last is not None and last <= length < held + self._to_end and length >= _CACHE:
            self._full = True
            return None
        return self._go_on(length, held, pos)

    def _go_on(self, length: int, held: int, pos: int) -> int:
        """Keep the convention that held until now, at the distance of this round; what it expected."""
        self._full = False
        to_end, to_start = self._to_end, self._to_start
        self._to_end, self._to_start = length - held, length - pos
        self._by_start = not self._by_end
        if self._by_end or to_start is None:
            return held + (to_end or 0)
        return pos + to_start


def _compare(round_: Round, state: dict[str, Any], held: int, found: Findings) -> None:
    for field in ("kv_len", "recurrent"):
        length = state.get(field)
        if length is not None and length != held and isinstance(length, int):
            _base_is_off(round_, field, length, held, found)


def _base_is_off(round_: Round, field: str, length: int, held: int, found: Findings) -> None:
    if field == "recurrent":
        hint = "the recurrent state was not restored to the last kept row"
    elif length > held:
        hint = "rejected rows stay in the cache"
    else:
        hint = "the rollback cut too deep"
    found.add(
        "A14",
        round_.index,
        f"state.{field}",
        length,
        held,
        f"after round {round_.index} {field} is {length} but the run holds {held} positions: {hint}; "
        "look at the rollback",
    )
