"""Logits that are broken, or that differ in the last digits between a batch and a single step."""

from collections.abc import Callable, Sequence, Set

import numpy as np

from engine.accept import Decision, leading_matches, shorten_at_stop
from engine.base.base import Base, Floats, Rows
from engine.drafters.drafter import Draft
from engine.faults.fault import Beside, Fault, on_code
from engine.faults.models import with_base
from engine.faults.over import OverBase
from engine.loop import Rules
from engine.sampling import AnySampler

WHERE = 24
"""Positions behind the prompt of the row that goes wrong."""

NOISE = 1e-5

Change = Callable[[Floats, bool], None]
"""Changes a row of logits ``[vocab]`` in place; true in a batch, false in a single step."""


class AtOneRow(OverBase):
    """Changes one row, ``WHERE`` positions behind the prompt, whenever it is computed."""

    def __init__(self, base: Base, change: Change) -> None:
        super().__init__(base)
        self._change = change
        self._prompt = 0

    def prefill(self, tokens: Sequence[int]) -> Rows:
        self._prompt = self.consumed + len(tokens)
        return super().prefill(tokens)

    def step(self, token: int) -> Rows:
        first = self.consumed
        return self._changed(super().step(token), first, batch=False)

    def verify(self, tokens: Sequence[int]) -> Rows:
        first = self.consumed
        return self._changed(super().verify(tokens), first, batch=True)

    def _changed(self, rows: Rows, first: int, *, batch: bool) -> Rows:
        j = self._prompt + WHERE - first
        if not 0 <= j < len(rows.logits):
            return rows
        rows = rows.copied()
        self._change(rows.logits[j], batch)
        return rows


def _break(row: Floats, batch: bool) -> None:  # noqa: ARG001
    row[:] = np.nan


def _tie(row: Floats, batch: bool) -> None:
    """Bring the second token within the noise of the first, and before it in a batch."""
    second, first = np.argsort(row, kind="stable")[-2:]
    row[second] = row[first] + (NOISE if batch else -NOISE)


def choose_unchecked(
    draft: Draft, logits: Floats, position: int, sampler: AnySampler, stop_tokens: Set[int]
) -> Decision:
    """Take the argmax of every row; that of a row of NaN is its first entry."""
    targets = tuple(sampler.choose(row, position + j) for j, row in enumerate(logits))
    take, stopped = shorten_at_stop(draft.tokens, leading_matches(draft.tokens, targets), stop_tokens)
    return Decision(take, stopped, targets, targets[take])


FAULTS = (
    Fault(
        name="nan-row",
        sentence="A row of NaN becomes a valid token: the argmax of nothing is its first entry.",
        rules=("A12",),
        shown=on_code(),
        samplers=("greedy", "gumbel"),
        models=with_base(lambda base: AtOneRow(base, _break)),
        decides=Rules(decide=choose_unchecked),
    ),
    Fault(
        name="near-tie",
        sentence="The two best tokens are within numeric noise, so that a batch and a single step choose differently.",
        beside=Beside.TIE,
        shown=on_code(),
        samplers=("greedy",),
        models=with_base(lambda base: AtOneRow(base, _tie)),
    ),
)
