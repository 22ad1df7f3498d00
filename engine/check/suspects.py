"""Which known fault a run that differs from its models has: each is put into the models and the run is walked again."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from engine.base.base import Floats, Rows
from engine.drafters.drafter import Draft, Drafter, PickRow
from engine.errors import Refused
from engine.faults.gallery import named
from engine.faults.models import Wrap, with_base, with_drafter
from engine.faults.over import OverBase, OverDrafter

GALLERY = (
    "hidden-stale",
    "tap-off-by-one",
    "draft-cache-drift",
    "kv-not-rolled-back",
    "kv-off-by-one",
    "recurrent-not-restored",
    "recurrent-wrong-slot",
)
"""Faults of ``engine.faults`` that change what base or drafter say behind a text."""


class Suspect(NamedTuple):
    """A fault by its name, what it is, and what puts it into models."""

    name: str
    sentence: str
    models: Wrap


class ReadsLate(OverDrafter):
    """Is given, at every position, the base's row of the position before.

    Raises:
        Refused: the drafter reads nothing of the base's rows.
    """

    def __init__(self, drafter: Drafter) -> None:
        super().__init__(drafter)
        if not drafter.needs:
            raise Refused(f"drafter {drafter.info.kind} reads no rows of the base")
        # The last row that was committed; the very first one is its own.
        self._hidden: Floats | None = None
        self._taps: Floats | None = None

    def commit(self, tokens: Sequence[int], rows: Rows) -> None:
        late = rows._replace(hidden=_late(self._hidden, rows.hidden), taps=_late(self._taps, rows.taps))
        super().commit(tokens, late)
        self._hidden, self._taps = (None if each is None else each[-1:].copy() for each in (rows.hidden, rows.taps))


def _late(before: Floats | None, rows: Floats | None) -> Floats | None:
    return None if rows is None else np.concatenate([rows[:1] if before is None else before, rows[:-1]])


class DraftsBehindTheLast(OverDrafter):
    """Drafts behind the text's last token in the place of the one that was decided behind it."""

    def __init__(self, drafter: Drafter) -> None:
        super().__init__(drafter)
        self._last: int | None = None

    def draft(self, t1: int, limit: int, pick: PickRow, tau: float, anchor: Rows | None = None) -> Draft:
        return super().draft(t1 if self._last is None else self._last, limit, pick, tau, anchor)

    def commit(self, tokens: Sequence[int], rows: Rows) -> None:
        super().commit(tokens, rows)
        self._last = tokens[-1]


class GivesLate(OverBase):
    """Gives, for every row of a batch behind its first, the logits of the row before."""

    def verify(self, tokens: Sequence[int]) -> Rows:
        rows = super().verify(tokens)
        late = _late(None, rows.logits)
        assert late is not None
        return rows._replace(logits=late)


class SeesNoDrafts(OverBase):
    """Its rows see the text and themselves, and none of the batch before them."""

    def verify(self, tokens: Sequence[int]) -> Rows:
        start, logits = self.consumed, []
        for token in tokens:
            logits.append(super().step(token).logits.copy())
            super().rollback(start)
        return super().verify(tokens)._replace(logits=np.concatenate(logits))


OWN = (
    Suspect(
        "rows-one-late",
        "The drafter reads, at every position, the base's row of the position before.",
        with_drafter(ReadsLate),
    ),
    Suspect(
        "anchor-one-late",
        "The drafter drafts behind the text's last token, where the one decided behind it belongs.",
        with_drafter(DraftsBehindTheLast),
    ),
    Suspect(
        "logits-one-late",
        "Every row of a batch behind its first has the logits of the row before.",
        with_base(GivesLate),
    ),
    Suspect(
        "drafts-not-seen",
        "A row of a batch sees the text and its own token, and not the drafts between.",
        with_base(SeesNoDrafts),
    ),
)

SUSPECTS = (*OWN, *(Suspect(fault.name, fault.sentence, fault.models) for fault in map(named, GALLERY)))
