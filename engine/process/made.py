"""What is known of a run by the rounds that an engine has sent: counts, and what the next one must join on to."""

import zlib
from array import array
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from engine.records import End, Prefill, Round
from engine.stats import Stats
from engine.trace.progress import Progress

_ENCODE = msgspec.msgpack.Encoder().encode
_UNNEEDED: dict[str, Any] = dict.fromkeys(
    ("targets", "draft_p", "target_p", "accept_p", "gap", "u", "top", "draft_top", "state", "fallback")
)


class Made:
    """The rounds of a run so far, without keeping them."""

    def __init__(self, prefill: Prefill, rounds: Iterable[Round] = ()) -> None:
        self._prefill = prefill
        self._progress, self._stats = Progress(), Stats()
        self._tokens = array("q")
        self._digests = array("L")
        self._next, self._pos = prefill.next, prefill.positions
        for round_ in rounds:
            self.add(round_)

    def __len__(self) -> int:
        return self._progress.rounds

    def unfit(self, round_: Round) -> str | None:
        """Why this cannot be the next round: a pipe that loses bytes may still give whole records."""
        got, due = (round_.index, round_.t1, round_.pos), (len(self), self._next, self._pos)
        if got == due:
            return None
        return "round {} (token {} at {}) came where round {} (token {} at {}) was due".format(*got, *due)

    def add(self, round_: Round) -> None:
        """Take in the next round."""
        self._progress.note(round_)
        self._stats.add(round_)
        self._tokens.extend(round_.emitted or ())
        self._digests.append(_digest(round_))
        self._next = round_.next
        if round_.consumed is not None:
            self._pos = round_.consumed

    def shared(self, rounds: Sequence[Round]) -> int:
        """How many of the first ``rounds`` are the first of this run."""
        for i, (round_, digest) in enumerate(zip(rounds, self._digests, strict=False)):
            if _digest(round_) != digest:
                return i
        return min(len(rounds), len(self))

    def end(self, reason: str) -> End:
        """The end as it stands."""
        counted = self._progress
        end = End(
            reason=reason,
            rounds=counted.rounds,
            emitted=counted.emitted,
            fell_back_at=counted.fell_back_at,
            plain_ms=self._stats.plain_ms(self._prefill.plain_ms),
        )
        return msgspec.structs.replace(end, stats=self._stats.as_map(self._prefill, end, tokens=self._tokens))


def slim(round_: Round) -> Round:
    """What an engine needs of a round to go on behind it."""
    return msgspec.structs.replace(round_, **_UNNEEDED)


def _digest(round_: Round) -> int:
    return zlib.crc32(_ENCODE(slim(round_)))
