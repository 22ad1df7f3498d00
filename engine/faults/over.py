"""A base, a drafter and a run that pass everything on to another; a fault overrides the one thing that goes wrong."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from engine.base.base import Base, Rows
from engine.drafters.drafter import Draft, Drafter, PickRow
from engine.live import Stepper
from engine.options import Options
from engine.records import BaseInfo, DrafterInfo, End, Event, Header, Prefill, Round
from engine.request import LiveRequest
from engine.stats import Stats


class OverBase:
    """A base like the one it is given."""

    def __init__(self, base: Base) -> None:
        self._base = base

    @property
    def info(self) -> BaseInfo:
        return self._base.info

    @property
    def vocab_size(self) -> int:
        return self._base.vocab_size

    @property
    def context_length(self) -> int | None:
        return self._base.context_length

    @property
    def widest(self) -> int | None:
        return self._base.widest

    @property
    def consumed(self) -> int:
        return self._base.consumed

    @property
    def tokens(self) -> Sequence[int]:
        return self._base.tokens

    def prefill(self, tokens: Sequence[int]) -> Rows:
        return self._base.prefill(tokens)

    def step(self, token: int) -> Rows:
        return self._base.step(token)

    def verify(self, tokens: Sequence[int]) -> Rows:
        return self._base.verify(tokens)

    def rollback(self, keep: int) -> None:
        self._base.rollback(keep)

    def features(self, start: int, stop: int) -> Rows:
        return self._base.features(start, stop)

    def lengths(self) -> dict[str, Any]:
        return self._base.lengths()


class OverRounds(OverBase):
    """A base that knows where the round began that is being made: at its first pass since the last rollback."""

    def __init__(self, base: Base) -> None:
        super().__init__(base)
        self._began: int | None = None

    def step(self, token: int) -> Rows:
        self._begin()
        return super().step(token)

    def verify(self, tokens: Sequence[int]) -> Rows:
        self._begin()
        return super().verify(tokens)

    def rollback(self, keep: int) -> None:
        began, self._began = self._began, None
        if began is None or keep <= began:
            self._rewind(keep)
        else:
            self._commit(began, keep)

    def _rewind(self, keep: int) -> None:
        """Go back to before the round."""
        self._base.rollback(keep)

    def _commit(self, began: int, keep: int) -> None:  # noqa: ARG002
        """End a round that began at one position and keeps what is before another."""
        self._base.rollback(keep)

    def _begin(self) -> None:
        if self._began is None:
            self._began = self.consumed


class OverDrafter:
    """A drafter like the one it is given."""

    def __init__(self, drafter: Drafter) -> None:
        self._drafter = drafter

    @property
    def info(self) -> DrafterInfo:
        return self._drafter.info

    @property
    def vocab_size(self) -> int | None:
        return self._drafter.vocab_size

    @property
    def consumed(self) -> int:
        return self._drafter.consumed

    @property
    def needs(self) -> frozenset[str]:
        return self._drafter.needs

    @property
    def needs_anchor_row(self) -> bool:
        return self._drafter.needs_anchor_row

    def draft(self, t1: int, limit: int, pick: PickRow, tau: float, anchor: Rows | None = None) -> Draft:
        return self._drafter.draft(t1, limit, pick, tau, anchor)

    def commit(self, tokens: Sequence[int], rows: Rows) -> None:
        self._drafter.commit(tokens, rows)

    def rollback(self, keep: int) -> None:
        self._drafter.rollback(keep)


class OverRun:
    """A run like the one it is given, whose rounds are told otherwise; the end's figures follow what is told.

    ``request`` is what was asked for.
    """

    def __init__(self, source: Stepper, request: LiveRequest) -> None:
        self._source = source
        self._request = request
        self._stats = Stats()
        self._emitted: list[int] = []

    @property
    def header(self) -> Header:
        return self._source.header

    @property
    def prefill(self) -> Prefill:
        return self._source.prefill

    @property
    def events(self) -> tuple[Event, ...]:
        return self._source.events

    @property
    def done(self) -> bool:
        return self._source.done

    def piece(self, token: int) -> bytes | None:
        return self._source.piece(token)

    def step(self) -> Round | None:
        round_ = self._source.step()
        if round_ is None:
            return None
        told = self.tell(round_)
        self._stats.add(told)
        self._emitted += told.emitted or ()
        return told

    def tell(self, round_: Round) -> Round:
        """What is said of a round."""
        return round_

    def end(self) -> End:
        end = self._source.end()
        return msgspec.structs.replace(end, stats=self._stats.as_map(self.prefill, end, tokens=self._emitted))

    def rewind(
        self,
        kept: Sequence[Round],
        options: Options | None = None,
        *,
        drafter: str | None = None,
        run: Mapping[str, Any] | None = None,
    ) -> None:
        self._source.rewind(kept, options, drafter=drafter, run=run)
        self._stats = Stats.of(kept)
        self._emitted = [token for round_ in kept for token in round_.emitted or ()]
