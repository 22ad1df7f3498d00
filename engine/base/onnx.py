"""A base that is an ONNX graph, run by onnxruntime."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from engine.base.base import Rows
from engine.base.history import History
from engine.base.passes import FEATURES, Passes, SharedPasses
from engine.compiled import ANY, Widths
from engine.errors import EngineFault, ModelError, Refused
from engine.records import BaseInfo
from engine.session import Session


class OnnxBase:
    """A base over a graph as ``engine.models.graph_decoder.base_graph`` makes it, or over other ``passes``.

    Rows it returns are views that the next pass of the same width overwrites. ``plain_width`` 2 runs a single step with
    a second row that is thrown away, which makes it the exact twin of a verify row (a pass of width 1 is not). Where
    the state cannot be cut at the place that a rollback asks for, what is missing is run again. ``features`` are the
    widths of the hidden states and taps that ``passes`` give, by default those of the graph's outputs of these names.
    ``widths`` are the rows that a pass may have: what is shorter is padded, what is longer is run in several.

    Raises:
        ModelError: the graph is not of that kind.
        Refused: the widths are not for it.
    """

    def __init__(
        self,
        session: Session,
        info: BaseInfo,
        context_length: int | None,
        plain_width: int = 1,
        passes: Passes | None = None,
        features: Mapping[str, int] | None = None,
        widths: Widths = ANY,
    ) -> None:
        self._session = session
        self._info = info
        self.vocab_size = info.vocab_size
        self._positions = context_length
        self._context_length = context_length
        self.plain_width = plain_width
        self._widths = widths
        self._passes = passes or _shared(session, info, context_length)
        if plain_width > 1 and not self._passes.can_pad:
            raise ModelError(
                f"{info.name}: a plain step of width {plain_width} runs a padding row, which would stay in this "
                "model's recurrent state: use width 1"
            )
        if widths.sizes:
            self._fit(widths)
        if features is None:
            features = {name: session.size(name) for name in FEATURES if name in session.outputs}
        self._history = History(features)
        self._tokens: list[int] = []

    @property
    def info(self) -> BaseInfo:
        return self._info

    @property
    def context_length(self) -> int | None:
        return self._context_length

    @property
    def widest(self) -> int | None:
        return self._widths.widest

    @property
    def consumed(self) -> int:
        return len(self._tokens)

    @property
    def tokens(self) -> Sequence[int]:
        return self._tokens

    def device(self) -> dict[str, Any]:
        """For the trace's header: the provider that runs it, its nodes, and the widths of its passes if not any."""
        sizes = list(self._widths.sizes)
        return self._session.device() | ({"compiled_widths": sizes} if sizes else {})

    def prefill(self, tokens: Sequence[int]) -> Rows:
        return self._consume(tokens, logit_rows=1)

    def step(self, token: int) -> Rows:
        return self._consume([token], logit_rows=1, least=self.plain_width)

    def verify(self, tokens: Sequence[int]) -> Rows:
        return self._consume(tokens, logit_rows=len(tokens))

    def rollback(self, keep: int) -> None:
        """Forget all but the first ``keep`` positions.

        Raises:
            EngineFault: it holds fewer, or running a part again failed, which then is forgotten too.
        """
        assert keep >= 0
        if keep > len(self._tokens):
            raise EngineFault(f"{self._info.name}: cannot keep {keep} of {len(self._tokens)} positions")
        left = self._passes.cut(keep)
        again = self._tokens[left:keep]
        del self._tokens[left:]
        if again:
            self._consume(again, logit_rows=1)

    def features(self, start: int, stop: int) -> Rows:
        assert 0 <= start <= stop <= len(self._tokens), f"features {start}:{stop} of {len(self._tokens)} positions"
        return self._history.at(np.empty((0, self.vocab_size), np.float32), start, stop)

    def lengths(self) -> dict[str, Any]:
        return self._passes.lengths()

    def close(self) -> None:
        """Give the session up; whatever runs it after that is a fault."""
        self._session.close()

    def _fit(self, widths: Widths) -> None:
        """See to it that a pass of one of the widths fits behind every position that the base may hold."""
        if not self._passes.can_pad:
            raise Refused(
                f"{self._info.name}: passes of fixed widths are padded, which would stay in its recurrent state"
            )
        if self.plain_width > widths.sizes[-1]:
            raise Refused(f"plain_width is {self.plain_width}, and no pass is wider than {widths.widest}")
        narrowest = next(size for size in widths.sizes if size >= self.plain_width)
        if self._context_length is not None:
            self._context_length -= narrowest - 1
            if self._context_length < 1:
                raise Refused(f"no pass of {narrowest} rows fits the context of {self._positions} positions")

    def _consume(self, tokens: Sequence[int], logit_rows: int, least: int = 1) -> Rows:
        """Run ``tokens`` in passes of at least ``least`` rows; the logits of the last ``logit_rows`` of them."""
        self._check(tokens)
        if not self._widths.sizes:
            return self._pass(tokens, max(0, least - len(tokens)), logit_rows)
        room = sys.maxsize if self._positions is None else self._positions - len(self._tokens)
        parts = self._widths.parts(len(tokens), room, least)
        if len(parts) == 1:
            return self._pass(tokens, parts[0].padding, logit_rows)
        rows = self._pass(tokens[: parts[0].wanted], parts[0].padding, min(logit_rows, parts[0].wanted))
        at = parts[0].wanted
        for part in parts[1:]:
            # A pass overwrites the rows of the one before.
            before = rows.copied()
            rows = self._pass(tokens[at : at + part.wanted], part.padding, min(logit_rows, part.wanted))
            rows = before.followed_by(rows)._replace(width=before.width + rows.width)
            at += part.wanted
        return rows._replace(logits=rows.logits[-logit_rows:])

    def _pass(self, tokens: Sequence[int], padding: int, logit_rows: int) -> Rows:
        start = len(self._tokens)
        rows = self._passes.run(tokens, start, logit_rows, padding)
        self._tokens += tokens
        self._history.put(start, len(self._tokens), rows)
        return rows

    def _check(self, tokens: Sequence[int]) -> None:
        start = len(self._tokens)
        if self._context_length is not None and start + len(tokens) > self._context_length:
            raise EngineFault(
                f"{self._info.name}: its context is full: {start} of {self._context_length} positions are taken and "
                f"the pass needs {len(tokens)} more"
            )
        if not tokens or min(tokens) < 0 or max(tokens) >= self.vocab_size:
            raise EngineFault(
                f"{self._info.name}: a pass at position {start} needs one or more token ids from 0 to "
                f"{self.vocab_size - 1}, it was given {list(tokens)[:8]}"
            )


def _shared(session: Session, info: BaseInfo, context_length: int | None) -> SharedPasses:
    if context_length is None:
        raise ModelError(f"{info.name}: a buffer for its keys and values needs to know how long the context is")
    return SharedPasses(session, info.vocab_size, context_length)
