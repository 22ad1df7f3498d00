"""A separate draft model: a smaller base, decoded token by token, with a state of its own."""

from collections.abc import Sequence

import numpy as np

from engine.base.base import Base, Floats, Rows
from engine.drafters.drafter import Draft, Pick, PickRow
from engine.records import DrafterInfo


class DraftModelDrafter:
    """Drafts with ``model``, which shares the base's vocabulary and starts empty.

    The model is fed what it lacks when it drafts: one row as a rule, two after a round whose drafts were all accepted,
    since the last draft was never fed. What was kept of its own drafts it does not see again.
    """

    def __init__(self, model: Base) -> None:
        self.info = DrafterInfo(kind="draft-model", name=model.info.name, sha256=model.info.sha256)
        self.vocab_size: int | None = model.vocab_size
        self.needs: frozenset[str] = frozenset()
        self.needs_anchor_row = False
        self._model = model
        self._tokens: list[int] = []

    @property
    def consumed(self) -> int:
        return len(self._tokens)

    def draft(self, t1: int, limit: int, pick: PickRow, tau: float, anchor: Rows | None = None) -> Draft:  # noqa: ARG002
        start = len(self._tokens)
        if self._model.context_length is not None:
            limit = min(limit, self._model.context_length - start)
        if limit < 1:
            return Draft()
        self._keep(start)
        row = self._feed([*self._tokens[self._model.consumed :], t1])
        picks: list[Pick] = []
        rows: list[Floats] = []
        while True:
            rows.append(row)
            picks.append(pick(row, start + 1 + len(picks)))
            if len(picks) == limit or picks[-1].under(tau):
                return Draft.of(picks, np.stack(rows))
            row = self._feed([picks[-1].token])

    def commit(self, tokens: Sequence[int], rows: Rows) -> None:  # noqa: ARG002
        held = len(self._tokens)
        self._tokens += tokens
        for own, kept in zip(self._model.tokens[held:], tokens, strict=False):
            if own != kept:
                break
            held += 1
        self._keep(held)
        if not self._model.consumed:
            # The prompt is worked off here, so that it is no round's cost.
            self._feed(self._tokens[: self._model.context_length])

    def rollback(self, keep: int) -> None:
        del self._tokens[keep:]
        self._keep(keep)

    def _keep(self, count: int) -> None:
        if count < self._model.consumed:
            self._model.rollback(count)

    def _feed(self, tokens: Sequence[int]) -> Floats:
        """The row after the last of ``tokens``, in memory of its own."""
        rows = self._model.step(tokens[0]) if len(tokens) == 1 else self._model.prefill(tokens)
        return np.array(rows.logits[-1])
