"""One pass of an ONNX graph over the state of a text, and how far that state can be cut back."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from engine.base.base import Rows
from engine.session import Session, SharedBuffer

CACHED_WIDTH = 32
"""Passes up to this width are kept for the next time; a prompt's is made for it alone."""

FEATURES = ("hidden", "taps")


class Passes(Protocol):
    """A graph together with its state, which covers the positions that were run and not cut."""

    @property
    def can_pad(self) -> bool:
        """Whether rows can run behind the tokens and leave nothing in the state."""

    def run(self, tokens: Sequence[int], start: int, logit_rows: int, padding: int) -> Rows:
        """Consume ``tokens`` at the positions from ``start`` on, with ``padding`` rows behind them that are forgotten.

        Gives ``logits`` ``[logit_rows, vocab]`` of the last tokens and, where the graph has them, ``hidden`` and
        ``taps`` ``[n, width]`` of all. They may be views that the next run overwrites.
        """

    def cut(self, keep: int) -> int:
        """Forget all but the first ``keep`` positions; how many are left, if some of those have to be run again."""

    def lengths(self) -> dict[str, Any]:
        """How many positions each kind of state covers."""


class Runs(Protocol):
    """A pass over arrays that were bound."""

    def run(self, length_after: int) -> None:
        """Run; ``length_after`` is how many positions there are afterwards."""


class BoundPass(NamedTuple):
    """A pass that was bound, the input that its tokens go to, and what they get of its outputs."""

    pass_: Runs
    ids: NDArray[np.integer[Any]]
    rows: Rows

    def run(self, tokens: Sequence[int], start: int, padding: int) -> Rows:
        """Run ``tokens`` at the positions from ``start`` on, with ``padding`` rows behind them."""
        count, ids = len(tokens), self.ids
        for i, token in enumerate(tokens):
            ids[i] = token
        if padding:
            ids[count:] = tokens[-1]
        self.pass_.run(start + count + padding)
        return self.rows


class SharedPasses:
    """Passes over a shared KV buffer: a cut is a shorter length, at any place and for free.

    Raises:
        ModelError: the graph is not of that kind.
    """

    can_pad = True

    def __init__(self, session: Session, vocab_size: int, context_length: int) -> None:
        session.require("input_ids", "logits_from", "logits")
        self._session = session
        self._vocab_size = vocab_size
        # One position more than the context: the padding row of the last plain step stands there.
        self._cache = SharedBuffer(session, context_length + 1)
        self._features = [name for name in FEATURES if name in session.outputs]
        self._passes: dict[tuple[int, int, int], BoundPass] = {}
        self._length = 0

    def run(self, tokens: Sequence[int], start: int, logit_rows: int, padding: int) -> Rows:
        count = len(tokens)
        key = count, logit_rows, padding
        rows = (self._passes.get(key) or self._made(*key)).run(tokens, start, padding)
        self._length = start + count
        return rows

    def cut(self, keep: int) -> int:
        self._length = keep
        return keep

    def lengths(self) -> dict[str, Any]:
        return {"kv_len": self._length}

    def _made(self, count: int, logit_rows: int, padding: int) -> BoundPass:
        width, given = count + padding, logit_rows + padding
        inputs = {"input_ids": np.zeros((1, width), np.int64), "logits_from": np.array([width - given], np.int64)}
        outputs = {"logits": np.zeros((1, given, self._vocab_size), np.float32)}
        for name in self._features:
            outputs[name] = np.zeros((1, width, self._session.size(name)), np.float32)
        features = {name: outputs[name][0, :count] for name in self._features}
        rows = Rows(outputs["logits"][0, :logit_rows], **features, width=width)
        made = BoundPass(self._cache.pass_(inputs, outputs), inputs["input_ids"][0], rows)
        if width <= CACHED_WIDTH:
            self._passes[count, logit_rows, padding] = made
        return made
