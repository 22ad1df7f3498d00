"""What the loop needs of a drafter."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from engine.base.base import Rows
from engine.errors import EngineFault
from engine.records import DrafterInfo


class Pick(NamedTuple):
    """A drafter's choice on one row of logits.

    ``p`` is the token's probability (of the full softmax when greedy, of the distribution it was drawn from when
    sampling); ``confidence`` is what ``tau`` is compared with: the token's probability in the full softmax or, where
    the token was drawn, that of the row's top; both are ``None`` where nothing waits for them, and are then those of
    the full softmax. ``q`` is the distribution the token was drawn from, ``[vocab]``, ``None`` when it was picked
    deterministically.
    """

    token: int
    p: float | None = None
    confidence: float | None = None
    q: NDArray[np.float64] | None = None

    def under(self, tau: float) -> bool:
        """Whether its confidence is known to be under ``tau``."""
        return self.confidence is not None and self.confidence < tau


PickRow = Callable[[NDArray[np.float32], int], Pick]
"""From a row of logits ``[vocab]`` and the position that the token will have."""


def first_best(row: NDArray[np.float32], position: int) -> Pick:  # noqa: ARG001
    """The argmax of a row and no figures; a drafter that is given this very function may do the same in its own way."""
    return Pick(int(row.argmax()))


class Draft(msgspec.Struct, frozen=True):
    """What a drafter proposes; the sequences run in parallel.

    ``p`` and ``confidence`` are ``None`` for a drafter without probabilities and where its picks left them out, ``q``
    is ``None`` for one whose picks are deterministic, ``logits`` ``[n, vocab]`` are kept where the drafter has them.
    """

    tokens: tuple[int, ...] = ()
    p: tuple[float, ...] | None = None
    confidence: tuple[float, ...] | None = None
    q: tuple[NDArray[np.float64], ...] | None = None
    logits: NDArray[np.float32] | None = None

    def cut(self, count: int) -> "Draft":
        """The first ``count`` proposals."""
        if count >= len(self.tokens):
            return self
        return Draft(
            self.tokens[:count],
            None if self.p is None else self.p[:count],
            None if self.confidence is None else self.confidence[:count],
            None if self.q is None else self.q[:count],
            None if self.logits is None else self.logits[:count],
        )

    def check(self, limit: int, vocab_size: int) -> None:
        """That a base of ``vocab_size`` can judge it.

        Raises:
            EngineFault: more than ``limit`` tokens, a token outside the vocabulary, or a probability that is none.
        """
        if len(self.tokens) > limit:
            raise EngineFault(f"the drafter proposed {len(self.tokens)} tokens where {limit} were allowed")
        for token in self.tokens:
            if not 0 <= token < vocab_size:
                raise EngineFault(f"the drafter proposed token {token}, outside the base's {vocab_size}")
        if self.p is not None:
            for j, p in enumerate(self.p):
                if not math.isfinite(p):
                    raise EngineFault(f"the drafter gave draft {j + 1} probability {p}: look for a NaN in its logits")
        for q in self.q or ():
            if q.shape != (vocab_size,):
                raise EngineFault(f"the drafter drew from a distribution of shape {q.shape}, expected {(vocab_size,)}")

    def check_logits(self) -> None:
        """That what was picked without a probability has one: it costs a look at each row, and can wait for that.

        Raises:
            EngineFault: a logit that was picked from is not finite.
        """
        if self.p is None and self.logits is not None:
            for j, token in enumerate(self.tokens):
                if not math.isfinite(self.logits.item(j, token)):
                    raise EngineFault(f"the drafter gave draft {j + 1} probability nan: look for a NaN in its logits")

    @classmethod
    def of(cls, picks: Sequence[Pick], logits: NDArray[np.float32] | None = None) -> "Draft":
        """Collect the picks of a drafter; ``logits`` are the rows that they were made from."""
        tokens, known, confidences, size = [], [], [], None
        for token, p, confidence, q in picks:
            tokens.append(token)
            if p is not None:
                known.append(p)
            if confidence is not None:
                confidences.append(confidence)
            if q is not None:
                size = len(q)
        if not known:
            return cls(tuple(tokens), logits=logits)
        return cls(
            tuple(tokens),
            tuple(known) if len(known) == len(tokens) else None,
            tuple(confidences) if len(confidences) == len(tokens) else None,
            None
            if size is None
            else tuple(np.eye(1, size, pick.token)[0] if pick.q is None else pick.q for pick in picks),
            logits,
        )


def full_softmax_at(logits: NDArray[np.float32], tokens: Sequence[int]) -> list[float]:
    """The probability of one token of each row in the full softmax, all rows at once."""
    scaled = logits - np.maximum.reduce(logits, axis=1, keepdims=True)
    np.exp(scaled, out=scaled)
    total: list[float] = np.add.reduce(scaled, axis=1).tolist()
    return [scaled.item(j, token) / total[j] for j, token in enumerate(tokens)]


class Drafter(Protocol):
    """A proposer that follows the base: every position the base keeps is committed to it, in order.

    A drafter may put off the work of a commit until it drafts next; ``consumed`` counts what was committed.
    """

    @property
    def info(self) -> DrafterInfo: ...
    @property
    def vocab_size(self) -> int | None:
        """Its vocabulary, ``None`` for one that only repeats tokens it was given."""

    @property
    def consumed(self) -> int:
        """How many positions its state covers."""

    @property
    def needs(self) -> frozenset[str]:
        """What it reads of the base's rows beside tokens: any of "hidden", "taps"."""

    @property
    def needs_anchor_row(self) -> bool:
        """Whether it drafts from the base's row of ``t1`` itself, which only the two-pass form has in time."""

    def draft(self, t1: int, limit: int, pick: PickRow, tau: float, anchor: Rows | None = None) -> Draft:
        """Propose up to ``limit`` tokens to follow ``t1``, which stands at position ``consumed``.

        It may stop as soon as a pick's confidence is under ``tau``; the loop drops that token and those behind it.
        """

    def commit(self, tokens: Sequence[int], rows: Rows) -> None:
        """The base keeps ``tokens`` at positions ``consumed`` onward; ``rows`` are its rows for them."""

    def rollback(self, keep: int) -> None:
        """Forget all but the first ``keep`` positions."""
