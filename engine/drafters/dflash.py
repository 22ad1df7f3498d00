"""The DFlash block drafter: all drafts of a round in one pass, from the taps of the base's layers."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engine.base.base import Rows
from engine.drafters.drafter import Draft, Pick, PickRow
from engine.records import DrafterInfo
from engine.session import Session


class DFlashDrafter:
    """Runs a graph as ``engine.models.graph_drafters.dflash_graph`` makes it.

    Only the context is cached, one row a committed position and layer; the block's own keys and values are never kept.
    Positions that were committed since the last draft wait as taps and enter the cache in the next pass, so that a
    rollback is a shorter count in every case.
    """

    def __init__(self, session: Session, info: DrafterInfo, context_length: int) -> None:
        self.info = info
        self.vocab_size: int | None = session.width_of("logits")
        self.needs = frozenset({"taps"})
        self.needs_anchor_row = False
        self._session = session
        self._taps = np.zeros((1, context_length, _last(session, "taps")), np.float32)
        self._context: dict[str, NDArray[np.float32]] = {}
        for name, (_, shape) in session.inputs.items():
            if name.startswith("past_key_values."):
                heads, head_dim = shape[2:]
                assert isinstance(heads, int)
                assert isinstance(head_dim, int)
                layer_part = name.removeprefix("past_key_values.")
                self._context[layer_part] = np.zeros((1, context_length, heads, head_dim), np.float32)
        self._outputs = ["logits", *(f"present.{name}" for name in self._context)]
        self._consumed = 0
        self._cached = 0

    @property
    def consumed(self) -> int:
        return self._consumed

    def draft(self, t1: int, limit: int, pick: PickRow, tau: float, anchor: Rows | None = None) -> Draft:  # noqa: ARG002
        count = self._consumed
        feeds = {f"past_key_values.{name}": rows[:, : self._cached] for name, rows in self._context.items()}
        feeds["taps"] = self._taps[:, self._cached : count]
        feeds["input_ids"] = np.array([[t1]], np.int64)
        logits, *present = self._session.run(self._outputs, feeds)
        for rows, new in zip(self._context.values(), present, strict=True):
            rows[:, self._cached : count] = new
        self._cached = count
        picks: list[Pick] = []
        for row in logits[0, :limit]:
            picks.append(pick(row, count + 1 + len(picks)))
            if picks[-1].confidence < tau:
                break
        return Draft.of(picks, logits[0, : len(picks)])

    def commit(self, tokens: Sequence[int], rows: Rows) -> None:
        assert rows.taps is not None
        self._taps[0, self._consumed : self._consumed + len(tokens)] = rows.taps
        self._consumed += len(tokens)

    def close(self) -> None:
        """Give the session up; to draft after that is a fault."""
        self._session.close()

    def rollback(self, keep: int) -> None:
        self._consumed = min(self._consumed, keep)
        self._cached = min(self._cached, keep)


def _last(session: Session, name: str) -> int:
    last = session.inputs[name].shape[-1]
    assert isinstance(last, int)
    return last
