"""Finds a text in what a run emitted, wherever its tokens are cut. Pure."""

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, chain
from pathlib import Path
from typing import NamedTuple

from engine.errors import SpecstepError
from engine.records import Round

HINT = (
    "What the run emitted is searched: small letters find capitals too, \\n and \\t are a line end and a tab. "
    "Rejected drafts are left out; ~text looks among them instead."
)
AT_ONCE = 512
"""Rounds that are searched at a time."""
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
_NOTHING = b"\xff"
"""Stands for a token of unknown bytes: no text holds it."""


class Match(NamedTuple):
    """A found text: its first and last token, and the round that completes it.

    Tokens are counted as they were emitted, from 0; among drafts, from the round's ``t1``, which is 0.
    """

    first: int
    last: int
    round: int


class Query(NamedTuple):
    """What is looked for, among ``drafts`` or not: at most ``longest`` bytes, in small letters if ``lowers``."""

    text: str
    pattern: "re.Pattern[bytes]"
    longest: int
    lowers: bool
    drafts: bool

    @property
    def keys(self) -> tuple[str, ...]:
        """What is needed of a round."""
        return ("t1", "drafts", "take", "emitted") if self.drafts else ("emitted",)


def query(typed: str) -> Query:
    """A query as it is typed: a capital in it makes capitals count.

    Raises:
        SpecstepError: it is empty.
    """
    text = re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), typed.removeprefix("~"))
    if not text:
        raise SpecstepError("nothing to look for: type a text")
    folds = text == text.lower()
    lowers = folds and text.isascii()
    forms = [{c} if lowers or not folds else {c, c.upper()} for c in text]
    encoded = [sorted(form.encode(errors="surrogatepass") for form in each) for each in forms]
    pattern = b"".join(b"(?:%s)" % b"|".join(map(re.escape, each)) for each in encoded)
    longest = sum(max(map(len, each)) for each in encoded)
    return Query(text, re.compile(pattern, re.DOTALL), longest, lowers, typed.startswith("~"))


class Matches:
    """Found texts in order, at twelve bytes each: a letter may be in a run some million times."""

    def __init__(self) -> None:
        self._first, self._last, self._round = array("I"), array("I"), array("I")

    def __len__(self) -> int:
        return len(self._round)

    def __getitem__(self, number: int) -> Match:
        return Match(self._first[number], self._last[number], self._round[number])

    def __iter__(self) -> Iterator[Match]:
        return map(self.__getitem__, range(len(self)))

    def add(self, match: Match) -> None:
        """Take in the next."""
        self._first.append(match.first)
        self._last.append(match.last)
        self._round.append(match.round)

    def until(self, index: int) -> int:
        """How many are completed before round ``index``."""
        return bisect_left(self._round, index, hi=len(self))


class Search:
    """The matches of a query in the rounds that were fed to it, in order. ``piece`` gives a token's bytes.

    ``chosen`` is the number of the match that was gone to last, ``broken`` why no more rounds can be searched.
    """

    def __init__(self, wanted: Query, piece: Callable[[int], bytes | None]) -> None:
        self.query = wanted
        self.matches = Matches()
        self.rounds = 0
        self.chosen: int | None = None
        self.broken = ""
        self._pieces = _Pieces(piece)
        self._tokens = 0
        self._held: list[bytes] = []

    @property
    def told(self) -> str:
        """What came of it: ``3 matches of 'def'``."""
        count = len(self.matches)
        return f"{count or 'no'} match{'' if count == 1 else 'es'} of {self.query.text!r}"

    def feed(self, rounds: Sequence[Round]) -> None:
        """Search the next rounds."""
        if self.query.drafts:
            self._among_drafts(rounds)
        else:
            self._emitted([round_.emitted or () for round_ in rounds])
        self.rounds += len(rounds)

    def read_by(self, piece: Callable[[int], bytes | None]) -> None:
        """From here on ask for bytes elsewhere: a file must not be read from two threads."""
        self._pieces = _Pieces(piece)

    def next(self, index: int) -> int | None:
        """The number of the first match that a round behind ``index`` completes."""
        place = self.matches.until(index + 1)
        return place if place < len(self.matches) else None

    def previous(self, index: int) -> int | None:
        """The number of the last match that a round before ``index`` completes."""
        place = self.matches.until(index) - 1
        return place if place >= 0 else None

    def within(self, start: int, stop: int) -> Sequence[Match]:
        """The matches that rounds ``start`` to ``stop`` complete."""
        return [self.matches[number] for number in range(self.matches.until(start), self.matches.until(stop))]

    def _emitted(self, rounds: Sequence[tuple[int, ...]]) -> None:
        parts = self._parts(chain.from_iterable(rounds))
        begun = list(accumulate(map(len, rounds), initial=self._tokens))
        first_part, end = self._tokens - len(self._held), 0
        for match in self._matches(parts):
            last = match.last + first_part
            self.matches.add(Match(match.first + first_part, last, self.rounds + bisect_right(begun, last) - 1))
            end = match.stop
        self._tokens = begun[-1]
        self._hold(parts, end)

    def _among_drafts(self, rounds: Sequence[Round]) -> None:
        """Each round's carried token and drafts behind the end of the text before it, all of them in one go."""
        room, bytes_of = self.query.longest - 1, self._pieces.__getitem__
        emitted = self._parts(chain.from_iterable([round_.emitted or () for round_ in rounds]))
        text, ends = b"".join(emitted), list(accumulate(map(len, emitted), initial=0))
        parts: list[bytes] = []
        begun: list[int] = []
        token = len(self._held)
        for round_ in rounds:
            begun.append(len(parts))
            drafts = round_.drafts
            if drafts and round_.take < len(drafts):
                stop = ends[token]
                before = text[stop - room if stop > room else 0 : stop]
                parts += (before, bytes_of(round_.t1), *map(bytes_of, drafts), _NOTHING)
            token += len(round_.emitted or ())
        for match in self._matches(parts):
            place = bisect_right(begun, match.last) - 1
            t1 = begun[place] + 1
            if match.last - t1 > rounds[place].take:
                self.matches.add(Match(max(match.first - t1, 0), match.last - t1, self.rounds + place))
        self._hold(emitted, 0)

    def _parts(self, tokens: Iterable[int]) -> list[bytes]:
        return [*self._held, *map(self._pieces.__getitem__, tokens)]

    def _matches(self, parts: list[bytes]) -> Iterator["_Found"]:
        text = b"".join(parts)
        ends: list[int] = []
        for match in self.query.pattern.finditer(text.lower() if self.query.lowers else text):
            ends = ends or list(accumulate(map(len, parts)))
            yield _Found(bisect_right(ends, match.start()), bisect_left(ends, match.end()), match.end())

    def _hold(self, parts: list[bytes], end: int) -> None:
        """Keep what may begin a match that the next rounds complete: less than a whole one, from ``end`` on."""
        size = sum(map(len, parts))
        room = min(self.query.longest - 1, size - end)
        held: list[bytes] = []
        while room > 0:
            part = parts[-1 - len(held)][-room:]
            held.append(part)
            room -= len(part)
        self._held = held[::-1]


class _Pieces(dict[int | None, bytes]):
    """The bytes of tokens that were asked for before, so that no call is made for most of them."""

    def __init__(self, piece: Callable[[int], bytes | None]) -> None:
        super().__init__()
        self._piece = piece

    def __missing__(self, token: int | None) -> bytes:
        found = None if token is None else self._piece(token)
        if found is None:
            return _NOTHING
        self[token] = found
        return found


class _Found(NamedTuple):
    """A match in parts: the first, the last, and the byte behind it."""

    first: int
    last: int
    stop: int


def searched(path: Path, search: Search, stopped: Callable[[], bool]) -> None:
    """Feed the rounds of the trace at ``path`` to ``search`` until ``stopped``; only what is needed of them is read.

    Raises:
        TraceError: the trace cannot be read.
    """
    from engine.trace.reader import open_trace  # noqa: PLC0415 (numpy: only for this)

    with open_trace(path) as trace:
        search.read_by(trace.piece)
        while search.rounds < len(trace) and not stopped():
            search.feed(trace.rounds(search.query.keys, search.rounds, min(search.rounds + AT_ONCE, len(trace))))
