"""A state that holds other positions than the text."""

from collections.abc import Callable, Sequence

from engine.base.base import Base, Rows
from engine.drafters.drafter import Draft, Drafter, PickRow
from engine.faults.fault import Beside, Fault, on_code
from engine.faults.models import with_base, with_drafter
from engine.faults.over import OverDrafter, OverRounds

DRIFT = 2
"""Positions that are lost in a round with a rejection: trimmed by rejected + 1 where rejected - 1 is right."""

Staying = Callable[[int, int], int]
"""From the rows of a round that are kept and those that are rejected: how many of the latter stay."""


class KeepsRows(OverRounds):
    """Keeps some rejected rows and goes on behind them; going back to before a round heals it."""

    def __init__(self, base: Base, staying: Staying) -> None:
        super().__init__(base)
        self._staying = staying
        self._surplus = 0

    def rollback(self, keep: int) -> None:
        began, self._began = self._began, None
        if began is None or keep + self._surplus <= began:
            self._surplus = 0
            self._base.rollback(min(keep, self.consumed))
            return
        kept, rejected = keep + self._surplus - began, self.consumed - self._surplus - keep
        self._surplus += self._staying(kept, rejected)
        self._base.rollback(keep + self._surplus)


def _all_rows(kept: int, rejected: int) -> int:  # noqa: ARG001
    return rejected


def _one_row(kept: int, rejected: int) -> int:
    """One too many, where some drafts were accepted and some not."""
    return int(kept > 1 and rejected > 0)


class Drifts(OverDrafter):
    """Trims its cache too far after every rejection."""

    def __init__(self, drafter: Drafter) -> None:
        super().__init__(drafter)
        self._drafted = 0

    def draft(self, t1: int, limit: int, pick: PickRow, tau: float, anchor: Rows | None = None) -> Draft:
        draft = super().draft(t1, limit, pick, tau, anchor)
        self._drafted = len(draft.tokens)
        return draft

    def commit(self, tokens: Sequence[int], rows: Rows) -> None:
        super().commit(tokens, rows)
        drafted, self._drafted = self._drafted, 0
        if len(tokens) <= drafted:
            super().rollback(max(1, self.consumed - DRIFT))


FAULTS = (
    Fault(
        name="kv-not-rolled-back",
        sentence="Rejected rows stay in the base's cache, and the text goes on behind them.",
        rules=("A7", "A14"),
        beside=Beside.PLAIN,
        shown=on_code(),
        models=with_base(lambda base: KeepsRows(base, _all_rows)),
    ),
    Fault(
        name="kv-off-by-one",
        sentence="One row too many is kept in the base's cache after a partly accepted round.",
        rules=("A7", "A14"),
        beside=Beside.PLAIN,
        shown=on_code(),
        models=with_base(lambda base: KeepsRows(base, _one_row)),
    ),
    Fault(
        name="draft-cache-drift",
        sentence="The drafter's cache is trimmed by rejected + 1 instead of rejected - 1, and drifts by 2 a round.",
        rules=("A14",),
        beside=Beside.ACCEPTANCE,
        shown=on_code(),
        models=with_drafter(Drifts),
    ),
)
