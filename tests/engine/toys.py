"""Bases and drafters without a model, right and wrong ones, and plain decode as the reference."""

from collections.abc import Callable, Sequence

import numpy as np

from engine.base.base import Floats, Rows
from engine.base.toy import LogitsOf, ToyBase
from engine.drafters.drafter import Draft, PickRow
from engine.errors import EngineFault
from engine.records import DrafterInfo

PROMPT = (1, 2, 3)


def tied_logits(vocab_size: int, seed: int) -> LogitsOf:
    """Rows that depend on the last three tokens, of few different values: most have ties at the top."""

    def logits_of(history: Sequence[int]) -> Floats:
        return np.random.default_rng([seed, *history[-3:]]).integers(0, 4, vocab_size).astype(np.float32)

    return logits_of


def plain_decode(logits_of: LogitsOf, prompt: Sequence[int], max_tokens: int, stops: Sequence[int] = ()) -> list[int]:
    """What greedy decoding gives, one token after the other."""
    history = list(prompt)
    while len(history) < len(prompt) + max_tokens and not (len(history) > len(prompt) and history[-1] in stops):
        history.append(int(np.argmax(logits_of(history))))
    return history[len(prompt) :]


class Wanderer:
    """A drafter that is right with probability ``skill``, and drafts any number of tokens up to the limit, 0 too.

    It is a function of the text, and checks that it is told the whole text in order.
    """

    def __init__(
        self, logits_of: LogitsOf, vocab_size: int, skill: float, seed: int, needs_anchor_row: bool = False
    ) -> None:
        self.info = DrafterInfo(kind="scripted", name="wanderer")
        self.vocab_size: int | None = vocab_size
        self.needs: frozenset[str] = frozenset()
        self.needs_anchor_row = needs_anchor_row
        self.tokens: list[int] = []
        self._logits_of = logits_of
        self._size = vocab_size
        self._skill = skill
        self._seed = seed

    @property
    def consumed(self) -> int:
        return len(self.tokens)

    def draft(self, t1: int, limit: int, pick: PickRow, tau: float, anchor: Rows | None = None) -> Draft:
        assert (anchor is not None) == self.needs_anchor_row
        history = [*self.tokens, t1]
        rng = np.random.default_rng([self._seed, len(history), t1])
        drafts: list[int] = []
        for _ in range(int(rng.integers(0, limit + 1))):
            right = int(np.argmax(self._logits_of([*history, *drafts])))
            drafts.append(right if rng.random() < self._skill else int(rng.integers(self._size)))
        return Draft(tuple(drafts), (0.5,) * len(drafts), (0.5,) * len(drafts))

    def commit(self, tokens: Sequence[int], rows: Rows) -> None:
        self.tokens += tokens

    def rollback(self, keep: int) -> None:
        del self.tokens[keep:]


class SaysDrafter(Wanderer):
    """A drafter that proposes what a function of (t1, limit) says, sound or not."""

    def __init__(self, says: Callable[[int, int], Draft], vocab_size: int | None = None) -> None:
        super().__init__(lambda _: np.zeros(1, np.float32), 1, 0.0, 0)
        self.vocab_size = vocab_size
        self._says = says

    def draft(self, t1: int, limit: int, pick: PickRow, tau: float, anchor: Rows | None = None) -> Draft:
        return self._says(t1, limit)


class DyingBase(ToyBase):
    """A base whose session is dead from its ``calls``-th pass after the prefill on."""

    def __init__(self, vocab_size: int, logits_of: LogitsOf, calls: int) -> None:
        super().__init__(vocab_size, logits_of)
        self._left = calls

    def step(self, token: int) -> Rows:
        self._spend()
        return super().step(token)

    def verify(self, tokens: Sequence[int]) -> Rows:
        self._spend()
        return super().verify(tokens)

    def _spend(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise EngineFault("its session is dead")


def spoiled(logits_of: LogitsOf, position: int, value: float = np.nan) -> LogitsOf:
    """The same rows, but the one after ``position`` tokens has ``value`` in its first entry."""

    def spoil(history: Sequence[int]) -> Floats:
        row = logits_of(history).copy()
        if len(history) == position:
            row[0] = value
        return row

    return spoil
