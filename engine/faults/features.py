"""A drafter that reads the wrong rows of the base, or no longer reads far enough back."""

from collections.abc import Sequence

import msgspec
import numpy as np

from engine.base.base import Base, Floats, Rows
from engine.drafters.drafter import Draft, Drafter, PickRow
from engine.errors import Refused
from engine.faults.fault import MEAN, Beside, Fault, on_code, on_toy
from engine.faults.models import with_both, with_drafter
from engine.faults.over import OverBase, OverDrafter
from engine.opening import Models
from engine.records import DrafterInfo

WINDOW = 160
"""Positions that the drafter's window covers."""

REACH = 4
"""Drafts that are still right beyond it."""

TAKES = "6564665465664656466545664656564665646556466564564665646456465664565"
"""A digit a round for the toy's drafter, without a period."""


class RemembersLast(OverBase):
    """Keeps the last row's features of every batch, rejected or not."""

    def __init__(self, base: Base) -> None:
        super().__init__(base)
        self.last: Rows | None = None

    def verify(self, tokens: Sequence[int]) -> Rows:
        rows = super().verify(tokens)
        self.last = Rows(rows.logits[-1:], _last(rows.hidden), _last(rows.taps))
        return rows


class GoesOnFromLast(OverDrafter):
    """Is given the last row of the batch where the last kept one belongs.

    Raises:
        Refused: the drafter reads nothing of the base's rows.
    """

    def __init__(self, drafter: Drafter, base: RemembersLast) -> None:
        super().__init__(drafter)
        if not drafter.needs:
            raise Refused(f"drafter {drafter.info.kind} reads no rows of the base, so none can be stale: use mtp")
        self._base = base

    def commit(self, tokens: Sequence[int], rows: Rows) -> None:
        last, self._base.last = self._base.last, None
        if last is not None:
            rows = rows._replace(hidden=_ending(rows.hidden, last.hidden), taps=_ending(rows.taps, last.taps))
        super().commit(tokens, rows)


def stale(models: Models) -> Models:
    """Base and drafter, tied together."""
    base = RemembersLast(models.base)
    return with_both(base, lambda drafter: GoesOnFromLast(drafter, base))(models)


class ShiftsTaps(OverDrafter):
    """Is given each tap in the place of the next one.

    Raises:
        Refused: the drafter reads fewer than two taps.
    """

    def __init__(self, drafter: Drafter) -> None:
        super().__init__(drafter)
        taps = drafter.info.taps
        if taps is None or len(taps) < 2:
            raise Refused(f"drafter {drafter.info.kind} reads no taps that could be shifted: use dflash")
        self._taps = taps

    @property
    def info(self) -> DrafterInfo:
        """With the taps that it is really given."""
        return msgspec.structs.replace(super().info, taps=(*self._taps[-1:], *self._taps[:-1]))

    def commit(self, tokens: Sequence[int], rows: Rows) -> None:
        if rows.taps is not None:
            rows = rows._replace(taps=np.roll(rows.taps, rows.taps.shape[1] // len(self._taps), axis=1))
        super().commit(tokens, rows)


class ForgetsFarRows(OverDrafter):
    """Beyond its window the drafts behind the first few are only the last of those again."""

    def draft(self, t1: int, limit: int, pick: PickRow, tau: float, anchor: Rows | None = None) -> Draft:
        draft = super().draft(t1, limit, pick, tau, anchor)
        beyond = len(draft.tokens) - REACH
        if self.consumed <= WINDOW or beyond <= 0:
            return draft
        return msgspec.structs.replace(draft, tokens=(*draft.tokens[:REACH], *draft.tokens[REACH - 1 : REACH] * beyond))


def _last(rows: Floats | None) -> Floats | None:
    return None if rows is None else rows[-1:].copy()


def _ending(rows: Floats | None, last: Floats | None) -> Floats | None:
    return rows if rows is None or last is None else np.concatenate([rows[:-1], last])


FAULTS = (
    Fault(
        name="hidden-stale",
        sentence="The next draft goes on from the hidden row of the batch's last token, not of the last kept one.",
        beside=Beside.DRAFTS,
        shown=on_code(max_tokens=120),
        models=stale,
    ),
    Fault(
        name="tap-off-by-one",
        sentence="The drafter's taps come from the layer before the right one in its list.",
        beside=Beside.DRAFTS,
        shown=on_code("dflash", MEAN, max_tokens=80),
        models=with_drafter(ShiftsTaps),
    ),
    Fault(
        name="sliding-window",
        sentence="Drafts from the fifth on are never accepted once the context has outgrown the drafter's window.",
        rules=("A17",),
        beside=Beside.DRAFTS,
        shown=on_toy("-".join(TAKES), k=6, max_tokens=360),
        samplers=("greedy", "gumbel"),
        models=with_drafter(ForgetsFarRows),
    ),
)
