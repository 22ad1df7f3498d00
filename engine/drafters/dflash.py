"""The DFlash block drafter: all drafts of a round in one pass, from the taps of the base's layers."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.base.base import Rows
from engine.compiled import ANY, Widths
from engine.drafters.drafter import Draft, Pick, PickRow, first_best
from engine.drafters.hooks import NO_HOOKS, Chain, Hooks
from engine.drafters.store import RowStore
from engine.errors import Refused
from engine.records import DrafterInfo
from engine.session import Session

_PAST = "past_key_values."
_FAR = 600.0
"""A logit up to which an exponential is a number."""


class DFlashDrafter:
    """Runs a graph as ``engine.models.graph_dflash.dflash_graph`` makes it.

    Only the context is cached, one row a committed position and layer; the block's own keys and values are never kept.
    Positions that were committed since the last draft wait as taps and enter the cache in the next pass, so that a
    rollback is a shorter count in every case. ``widths`` are how many positions a pass may take in: where fewer are
    new, those before them are taken in again, and where there are none of those, nothing is drafted.
    """

    def __init__(
        self,
        session: Session,
        info: DrafterInfo,
        context_length: int,
        hooks: Hooks = NO_HOOKS,
        widths: Widths = ANY,
    ) -> None:
        self.info = info
        self._row_outputs = self._rows_from(hooks)
        session.require(hooks.tokens_in, *self._row_outputs)
        self.vocab_size: int | None = None if hooks.choose else session.size("logits")
        self.needs = frozenset({"taps"})
        self.needs_anchor_row = False
        self._session = session
        self._hooks = hooks
        self._widths = widths
        self._t1: NDArray[Any] = np.zeros((1, 1), np.int64)
        if hooks.embed is not None:
            self._t1 = np.zeros((1, 1, session.size("inputs_embeds")), np.float32)
        self._taps = RowStore(context_length, session.size("taps"), "taps")
        self._context = {
            name: np.zeros((1, context_length, session.size(name, 2), session.size(name, 3)), np.float32)
            for name in session.inputs
            if name.startswith(_PAST)
        }
        self._outputs = [*self._row_outputs, *(name.replace(_PAST, "present.", 1) for name in self._context)]
        self._consumed = 0
        self._cached = 0

    @property
    def consumed(self) -> int:
        return self._consumed

    def draft(self, t1: int, limit: int, pick: PickRow, tau: float, anchor: Rows | None = None) -> Draft:  # noqa: ARG002
        count = self._consumed
        # A pass of a fixed width takes in at least one position, if only again.
        spans = self._widths.ending_at(min(self._cached, count - 1) if self._widths.sizes else self._cached, count)
        if not spans:
            return Draft()
        self._hooks.fill(self._t1, [t1])
        for first, last in spans:
            own = self._run(first, last)
        self._cached = count
        if self._hooks.choose is None:
            return self._picked(own, limit, pick, count + 1, tau)
        chain = Chain(self._hooks.choose, pick, count + 1, t1)
        for row in own[0][0, :limit]:
            if chain.add(row).under(tau):
                break
        return chain.draft()

    def _run(self, first: int, last: int) -> list[NDArray[Any]]:
        """Take in the positions ``first`` to ``last``; the rows of the block behind them."""
        feeds = {name: rows[:, :first] for name, rows in self._context.items()}
        feeds["taps"] = self._taps.rows[None, first:last]
        feeds[self._hooks.tokens_in] = self._t1
        outputs = self._session.run(self._outputs, feeds)
        own, present = outputs[: len(self._row_outputs)], outputs[len(self._row_outputs) :]
        for rows, new in zip(self._context.values(), present, strict=True):
            rows[:, first:last] = new
        return own

    def _rows_from(self, hooks: Hooks) -> tuple[str, ...]:
        """The outputs that picks are made from."""
        return (hooks.rows_out,)

    def _picked(self, outputs: list[NDArray[Any]], limit: int, pick: PickRow, position: int, tau: float) -> Draft:
        """Pick along the rows of logits, of which the first is for ``position``."""
        rows = outputs[0][0, :limit]
        if pick is first_best:
            return Draft(tuple(rows.argmax(axis=1).tolist()), logits=rows)
        picks: list[Pick] = []
        for row in rows:
            picks.append(pick(row, position + len(picks)))
            if picks[-1].under(tau):
                break
        return Draft.of(picks, rows[: len(picks)])

    def commit(self, tokens: Sequence[int], rows: Rows) -> None:
        self._taps.put(self._consumed, rows.taps, len(tokens))
        self._consumed += len(tokens)

    def close(self) -> None:
        """Give the session up; to draft after that is a fault."""
        self._session.close()

    def rollback(self, keep: int) -> None:
        self._consumed = min(self._consumed, keep)
        self._cached = min(self._cached, keep)


class DFlash2Drafter(DFlashDrafter):
    """Runs a graph as ``engine.models.graph_dflash.dflash2_graph`` makes it: a walk over each row's best tokens.

    A row's logits are its candidates' scores after the token that was picked before, and minus infinity elsewhere.
    """

    _rows: NDArray[np.float32] = np.empty((0, 0), np.float32)

    def _rows_from(self, hooks: Hooks) -> tuple[str, ...]:
        if hooks.choose is not None:
            raise Refused(f"drafter {self.info.kind} takes no choose hook: its selector is in its graph")
        return ("candidates", "scores")

    def _picked(self, outputs: list[NDArray[Any]], limit: int, pick: PickRow, position: int, tau: float) -> Draft:
        candidates, scores = outputs[0][0, :limit], outputs[1][0]
        if limit > len(self._rows):
            self._rows = np.empty((limit, self.vocab_size or 0), np.float32)
        self._rows.fill(-np.inf)
        picks: list[Pick] = []
        came_from = 0
        for j, tokens in enumerate(candidates.tolist()):
            row, logits = self._rows[j], scores[j, came_from]
            row[candidates[j]] = logits
            found = first_best_of(tokens, logits.tolist()) if pick is first_best else None
            picks.append(found or pick(row, position + j))
            if tau > 0 and picks[-1].under(tau):
                break
            # A pick from outside, which only a caller's own choice can be, is followed as the best candidate would be.
            came_from = tokens.index(picks[-1].token) if picks[-1].token in tokens else 0
        return Draft.of(picks, self._rows[: len(picks)])


def first_best_of(tokens: Sequence[int], logits: Sequence[float]) -> Pick | None:
    """What ``first_best`` picks from a row that is minus infinity elsewhere, and its probability.

    ``None`` where that is not so plain: a logit is NaN, or the best is so large that its exponential is not finite.
    """
    best = max(logits)
    total = sum(map(math.exp, logits)) if abs(best) < _FAR else math.inf
    if not math.isfinite(total):
        return None
    token = tokens[logits.index(best)]
    if logits.count(best) > 1:
        token = min([token for token, logit in zip(tokens, logits, strict=True) if logit == best])
    p = math.exp(best) / total
    return Pick(token, p, p)
