"""A base that is an ONNX graph with a shared KV buffer, run by onnxruntime."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.base.base import Floats, Rows
from engine.errors import EngineFault
from engine.records import BaseInfo
from engine.session import Pass, Session, SharedBuffer

CACHED_WIDTH = 32
"""Passes up to this width are kept for the next time; a prompt's is made for it alone."""


class OnnxBase:
    """A base over a graph as ``engine.models.graph_decoder.base_graph`` makes it.

    Rows it returns are views that the next pass of the same width overwrites. ``plain_width`` 2 runs a single step with
    a second row that is thrown away, which makes it the exact twin of a verify row (a pass of width 1 is not).

    Raises:
        ModelError: the graph is not of that kind.
    """

    def __init__(self, session: Session, info: BaseInfo, context_length: int, plain_width: int = 1) -> None:
        session.require("input_ids", "logits_from", "logits")
        self._session = session
        self._info = info
        self._context_length = context_length
        self.plain_width = plain_width
        # One position more than the context: the padding row of the last plain step stands there.
        self._cache = SharedBuffer(session, context_length + 1)
        self._stores: dict[str, Floats] = {
            name: np.zeros((context_length, session.size(name)), np.float32)
            for name in ("hidden", "taps")
            if name in session.outputs
        }
        self._passes: dict[tuple[int, int], Pass] = {}
        self._tokens: list[int] = []

    @property
    def info(self) -> BaseInfo:
        return self._info

    @property
    def vocab_size(self) -> int:
        return self._info.vocab_size

    @property
    def context_length(self) -> int | None:
        return self._context_length

    @property
    def consumed(self) -> int:
        return len(self._tokens)

    @property
    def tokens(self) -> Sequence[int]:
        return self._tokens

    def device(self) -> dict[str, Any]:
        """For the trace's header: the provider that runs it and its nodes."""
        return self._session.device()

    def prefill(self, tokens: Sequence[int]) -> Rows:
        return self._consume(tokens, logit_rows=1)

    def step(self, token: int) -> Rows:
        return self._consume([token], logit_rows=1, width=self.plain_width)

    def verify(self, tokens: Sequence[int]) -> Rows:
        return self._consume(tokens, logit_rows=len(tokens))

    def rollback(self, keep: int) -> None:
        assert 0 <= keep <= len(self._tokens), f"cannot keep {keep} of {len(self._tokens)} positions"
        del self._tokens[keep:]

    def features(self, start: int, stop: int) -> Rows:
        assert 0 <= start <= stop <= len(self._tokens), f"features {start}:{stop} of {len(self._tokens)} positions"
        kept = {name: store[start:stop] for name, store in self._stores.items()}
        return Rows(np.empty((0, self.vocab_size), np.float32), kept.get("hidden"), kept.get("taps"))

    def lengths(self) -> dict[str, Any]:
        return {"kv_len": len(self._tokens)}

    def close(self) -> None:
        """Give the session up; whatever runs it after that is a fault."""
        self._session.close()

    def _consume(self, tokens: Sequence[int], logit_rows: int, width: int = 0) -> Rows:
        """One pass over ``tokens``, padded to ``width``; the logits of the last ``logit_rows`` of them."""
        count, start = len(tokens), len(self._tokens)
        self._check(tokens)
        padding = max(0, width - count)
        pass_ = self._pass(count + padding, logit_rows + padding)
        ids = pass_.inputs["input_ids"]
        ids[0, :count] = tokens
        ids[0, count:] = tokens[-1]
        pass_.run(start + count + padding)
        self._tokens.extend(tokens)
        rows: dict[str, Floats] = {}
        for name, store in self._stores.items():
            rows[name] = pass_.outputs[name][0, :count]
            store[start : start + count] = rows[name]
        logits: NDArray[np.float32] = pass_.outputs["logits"][0, :logit_rows]
        return Rows(logits, rows.get("hidden"), rows.get("taps"), count + padding)

    def _check(self, tokens: Sequence[int]) -> None:
        start = len(self._tokens)
        if start + len(tokens) > self._context_length:
            raise EngineFault(
                f"{self._info.name}: its context is full: {start} of {self._context_length} positions are taken and "
                f"the pass needs {len(tokens)} more"
            )
        if not tokens or min(tokens) < 0 or max(tokens) >= self.vocab_size:
            raise EngineFault(
                f"{self._info.name}: a pass at position {start} needs one or more token ids from 0 to "
                f"{self.vocab_size - 1}, it was given {list(tokens)[:8]}"
            )

    def _pass(self, width: int, logit_rows: int) -> Pass:
        key = width, logit_rows
        if (known := self._passes.get(key)) is not None:
            return known
        inputs = {"input_ids": np.zeros((1, width), np.int64), "logits_from": np.array([width - logit_rows], np.int64)}
        outputs = {"logits": np.zeros((1, logit_rows, self.vocab_size), np.float32)}
        for name, store in self._stores.items():
            outputs[name] = np.zeros((1, width, store.shape[1]), np.float32)
        made = Pass(self._session, self._cache, inputs, outputs)
        if width <= CACHED_WIDTH:
            self._passes[key] = made
        return made
