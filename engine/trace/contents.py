"""Where the records of a trace stand: what a scan finds, what a writer notes, and what an ``index`` record stores."""

from array import array
from itertools import pairwise
from typing import Self

from engine.errors import TraceError
from engine.records import Index

EVERY = 64
"""Rounds between two noted offsets; a reader decodes at most this many to reach one."""
MAX_EVERY = 4096
WIDE = 255
"""Stands in ``counts`` for a round that emitted this many tokens or more: see the record."""


class Contents:
    """Byte offsets of every ``every``-th round, one byte a round, and the offsets of ``tokens`` and ``event`` records.

    ``events_at`` is ``None`` where it came from an index that does not list the events.
    """

    def __init__(self, every: int = EVERY) -> None:
        self.every = every
        self.offsets = array("Q")
        self.counts = bytearray()
        self.tokens_at = array("Q")
        self.events_at: array[int] | None = array("Q")

    @classmethod
    def from_index(cls, index: Index, stop: int) -> Self:
        """From the ``index`` record at byte ``stop``. Raises ``TraceError`` if it contradicts itself."""
        contents = cls(index.every)
        rounds = len(index.counts)
        if not 1 <= index.every <= MAX_EVERY:
            raise TraceError(f"the index at byte {stop} notes every {index.every} rounds, not 1 to {MAX_EVERY}", stop)
        if len(index.offsets) != -(-rounds // index.every):
            raise TraceError(f"the index at byte {stop} has {len(index.offsets)} offsets for {rounds} rounds", stop)
        for offsets in (index.offsets, index.tokens_at, index.events_at or ()):
            if any(left >= right for left, right in pairwise((0, *offsets, stop))):
                raise TraceError(f"the index at byte {stop} has offsets out of order or out of the file", stop)
        contents.offsets = array("Q", index.offsets)
        contents.counts = bytearray(index.counts)
        contents.tokens_at = array("Q", index.tokens_at)
        contents.events_at = None if index.events_at is None else array("Q", index.events_at)
        return contents

    def index(self) -> Index:
        """The ``index`` record that says the same."""
        return Index(
            every=self.every,
            offsets=tuple(self.offsets),
            counts=bytes(self.counts),
            tokens_at=tuple(self.tokens_at),
            events_at=None if self.events_at is None else tuple(self.events_at),
        )

    def note_rounds(self, places: list[int], counts: list[int]) -> None:
        """Take in the rounds at the offsets ``places``, which emitted ``counts`` tokens."""
        self.offsets.extend(places[-len(self.counts) % self.every :: self.every])
        self.counts.extend(min(max(count, 0), WIDE) for count in counts)

    def note_other(self, type_: str, place: int) -> None:
        """Take in a record of another type at the offset ``place``."""
        match type_:
            case "tokens":
                self.tokens_at.append(place)
            case "event" if self.events_at is not None:
                self.events_at.append(place)
