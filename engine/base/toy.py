"""Bases that need no model: their logits are a pure function of the tokens they hold. For tests and fast engines."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from engine.base.base import Floats, Rows
from engine.errors import EngineFault
from engine.records import BaseInfo

LogitsOf = Callable[[Sequence[int]], Floats]


class ToyBase:
    """A base whose row after a history of tokens is ``logits_of(history)``, ``[vocab]``."""

    def __init__(
        self, vocab_size: int, logits_of: LogitsOf, *, name: str = "toy", context_length: int | None = None
    ) -> None:
        self.info = BaseInfo(name=name, vocab_size=vocab_size, state="attention")
        self.vocab_size = vocab_size
        self.context_length = context_length
        self.widest: int | None = None
        self._logits_of = logits_of
        self._tokens: list[int] = []

    @property
    def consumed(self) -> int:
        return len(self._tokens)

    @property
    def tokens(self) -> Sequence[int]:
        return self._tokens

    def prefill(self, tokens: Sequence[int]) -> Rows:
        rows = self._feed(tokens)
        return Rows(rows.logits[-1:], width=rows.width)

    def step(self, token: int) -> Rows:
        return self._feed((token,))

    def verify(self, tokens: Sequence[int]) -> Rows:
        return self._feed(tokens)

    def rollback(self, keep: int) -> None:
        del self._tokens[keep:]

    def features(self, start: int, stop: int) -> Rows:
        return Rows(np.empty((stop - start, 0), np.float32))

    def lengths(self) -> dict[str, Any]:
        return {"kv_len": self.consumed}

    def _feed(self, tokens: Sequence[int]) -> Rows:
        if self.context_length is not None and self.consumed + len(tokens) > self.context_length:
            raise EngineFault(f"the base holds {self.context_length} positions: {len(tokens)} more do not fit")
        rows = []
        for token in tokens:
            self._tokens.append(token)
            rows.append(self._logits_of(self._tokens))
        return Rows(np.stack(rows).astype(np.float32), width=len(rows))


class Recurrent(NamedTuple):
    """A recurrent state: the positions that it covers, and the number that stands for them."""

    position: int
    value: int


class RecurrentToyBase(ToyBase):
    """Gives the rows of ``linear_choice`` by a state that each token overwrites, and that cannot be cut, only restored.

    It remembers the last two tokens, so that a state that was restored wrongly is wrong for one token more.
    """

    def __init__(self, vocab_size: int, *, name: str = "toy-hybrid", context_length: int | None = None) -> None:
        super().__init__(vocab_size, self._row, name=name, context_length=context_length)
        self.info = BaseInfo(name=name, vocab_size=vocab_size, state="hybrid")
        self._checkpoints = [Recurrent(0, 0)]
        self.state = self._checkpoints[0]

    def checkpoint(self, position: int) -> Recurrent:
        """The state after so many positions, which it still holds."""
        return self._checkpoints[position]

    def rollback(self, keep: int) -> None:
        super().rollback(keep)
        del self._checkpoints[keep + 1 :]
        self.state = self._checkpoints[-1]

    def lengths(self) -> dict[str, Any]:
        return {**super().lengths(), "recurrent": self.state.position}

    def _row(self, history: Sequence[int]) -> Floats:
        size, (position, value) = self.vocab_size, self.state
        self.state = Recurrent(position + 1, (value * size + history[-1]) % size**2)
        self._checkpoints.append(self.state)
        return linear_choice(size)(divmod(self.state.value, size))


def linear_choice(vocab_size: int) -> LogitsOf:
    """The choice after (.., prev, last) is ``(5 * last + 3 * prev + 7) mod vocab_size``, as a row of logits."""

    def logits_of(history: Sequence[int]) -> Floats:
        row = np.zeros(vocab_size, np.float32)
        prev = history[-2] if len(history) > 1 else 0
        row[(5 * history[-1] + 3 * prev + 7) % vocab_size] = 5.0
        return row

    return logits_of
