"""Two runs aligned by token, in one pass over the rounds of both: where their texts part, and where their drafts do."""

from array import array
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import suppress

import msgspec

from engine.errors import TraceError
from engine.records import Round, RoundSource
from engine.stats import READ, Stats

_AT_ONCE = 256
_COMPARED = (*READ, "fallback")
"""The keys of a round that an alignment and its figures need."""


class Meeting(msgspec.Struct, frozen=True):
    """Rounds of both sides that begin at the same token of the text, counted from 0."""

    token: int
    left: int
    right: int


class Side:
    """One of the two runs, as far as it was read.

    ``starts`` are the tokens emitted before each round, ``tokens`` those emitted so far. ``known`` is false once a
    round said how many tokens it emitted and not which. ``flip`` is the first round after which drafting was off.
    """

    def __init__(self, source: RoundSource) -> None:
        self.source = source
        self.starts = array("Q")
        self.tokens = 0
        self.known = True
        self.stats = Stats()
        self.flip: int | None = None
        self.last: Round | None = None
        self.ahead: tuple[int, ...] = ()
        self._next: Iterator[Round] = iter(())

    @property
    def more(self) -> bool:
        """Whether there are rounds to read."""
        return len(self.starts) < len(self.source)

    def read(self) -> tuple[int, ...]:
        """The tokens of the next round."""
        round_ = self.last = next(self._next, None) or self._fetch()
        if self.flip is None and (fallback := round_.fallback) is not None and fallback.off:
            self.flip = len(self.starts)
        self.starts.append(self.tokens)
        self.stats.add(round_)
        tokens = round_.emitted
        if tokens is None:
            self.known = False
            self.tokens += round_.count
            return ()
        self.tokens += len(tokens)
        return tokens

    def _fetch(self) -> Round:
        """The next round; of a trace many are read at once, with no more of each than is compared."""
        from engine.trace.reader import Trace  # noqa: PLC0415 (numpy: only to read a trace)

        at = len(self.starts)
        if isinstance(self.source, Trace):
            with suppress(TraceError):
                self._next = iter(self.source.rounds(_COMPARED, at, min(at + _AT_ONCE, len(self.source))))
                return next(self._next)
        return self.source.round(at)

    def round_of(self, token: int) -> int:
        """The round that emitted a token of the text, which must be there."""
        return bisect_right(self.starts, token) - 1


class Alignment:
    """What differs between two runs from the same prompt; ``take_in`` reads on, ``done`` says that nothing is left.

    ``parted`` holds the first token of every stretch where the texts differ, ``differing`` counts the tokens in them.
    ``drafts`` holds the rounds that begin at the same token behind the same text and draft otherwise; where one was
    allowed fewer drafts, only as many are compared. All of it stands for the text that both have.
    """

    def __init__(self, left: RoundSource, right: RoundSource) -> None:
        self.left, self.right = Side(left), Side(right)
        self.parted = array("Q")
        self.drafts: list[Meeting] = []
        self.differing = 0
        self._apart = False

    @property
    def done(self) -> bool:
        """Whether both were read to their ends."""
        return not self.left.more and not self.right.more

    @property
    def known(self) -> bool:
        """Whether both say which tokens they emitted."""
        return self.left.known and self.right.known

    @property
    def common(self) -> int:
        """How many tokens both have."""
        return min(self.left.tokens, self.right.tokens)

    @property
    def first(self) -> int | None:
        """The first token that differs, or that only one of them has; ``None`` while there is none."""
        if self.parted:
            return self.parted[0]
        return self.common if self.done and self.left.tokens != self.right.tokens else None

    def take_in(self, limit: int) -> int:
        """Read up to ``limit`` more rounds of the two together; how many there were. May raise ``TraceError``."""
        left, right = self.left, self.right
        left_stop, right_stop = len(left.source), len(right.source)
        for count in range(limit):
            more, other_more = len(left.starts) < left_stop, len(right.starts) < right_stop
            if more and (not other_more or left.tokens <= right.tokens):
                self._take(left, right)
            elif other_more:
                self._take(right, left)
            else:
                return count
        return limit

    def _take(self, side: Side, other: Side) -> None:
        start, tokens = side.tokens, side.read()
        if not self.known:
            return
        if not other.ahead:
            side.ahead = side.ahead + tokens if side.ahead else tokens
            return
        shared = len(tokens)
        if tokens == other.ahead:
            self._apart, other.ahead = False, ()
        else:
            shared = self._against(tokens, other.ahead, start)
            other.ahead, side.ahead = other.ahead[shared:], side.ahead + tokens[shared:]
        if shared and other.starts[-1] == start and (not self.parted or self.parted[0] > start):
            self._compare_drafts(start)

    def _against(self, tokens: tuple[int, ...], others: tuple[int, ...], start: int) -> int:
        """Compare as many as both have; how many these are."""
        shared = min(len(tokens), len(others))
        if tokens[:shared] != others[:shared]:
            self._compare(tokens[:shared], others[:shared], start)
        elif shared:
            self._apart = False
        return shared

    def _compare(self, tokens: tuple[int, ...], others: tuple[int, ...], start: int) -> None:
        for place, (token, expected) in enumerate(zip(tokens, others, strict=True), start):
            apart = token != expected
            if apart and not self._apart:
                self.parted.append(place)
            self.differing += apart
            self._apart = apart

    def _compare_drafts(self, start: int) -> None:
        left, right = self.left.last, self.right.last
        if left is not None and right is not None and drafts_differ(left, right):
            self.drafts.append(Meeting(start, len(self.left.starts) - 1, len(self.right.starts) - 1))


def drafts_differ(left: Round, right: Round) -> bool:
    """Whether two rounds behind the same text drafted otherwise, as far as both were allowed and asked to."""
    if left.drafts == right.drafts or not (left.drafts and right.drafts):
        return False
    shared = min(len(left.drafts), len(right.drafts))
    if left.drafts[:shared] != right.drafts[:shared]:
        return True
    return left.limit is not None and left.limit == right.limit and len(left.drafts) != len(right.drafts)


def align(left: RoundSource, right: RoundSource) -> Alignment:
    """Both read to their ends.

    Raises:
        TraceError: a round cannot be read.
    """
    alignment = Alignment(left, right)
    while alignment.take_in(4096):
        pass
    return alignment


def first_draft_difference(left: RoundSource, right: RoundSource) -> Meeting | None:
    """The first rounds of both that begin at the same token behind the same text, and draft otherwise.

    It is where a drafter begins to see other inputs than a right one: a stale hidden state, a tap off by one. ``None``
    where there is no such round before the texts part.

    Raises:
        TraceError: a round cannot be read.
    """
    if left.header.prompt != right.header.prompt:
        return None
    alignment = Alignment(left, right)
    while not alignment.drafts and not alignment.parted and alignment.take_in(1):
        pass
    return alignment.drafts[0] if alignment.drafts else None
