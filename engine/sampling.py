"""From a row of logits to a token: argmax, and exact sampling whose noise is a function of seed and position."""

from collections.abc import Callable
from enum import IntEnum
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from engine.drafters.drafter import Pick, PickRow, first_best
from engine.options import Options

Row = NDArray[np.float32]
Probs = NDArray[np.float64]


class Purpose(IntEnum):
    """What a draw is for. Draws for different purposes at one position are independent."""

    ACCEPT = 0
    CHOOSE = 1
    PROPOSE = 2
    GUMBEL = 3


Coins = Callable[[int, Purpose], float]
"""A number in [0, 1) for the token at a position and a purpose; the same number whenever it is asked for again."""


def argmax(row: Row) -> int:
    """The most likely token; ties go to the lowest id. The row must hold no NaN."""
    return int(row.argmax())


def softmax(row: Row, temperature: float = 1.0) -> Probs:
    """Probabilities ``[vocab]`` in double precision."""
    scaled = row.astype(np.float64) / temperature
    scaled = np.exp(scaled - scaled.max())
    return np.asarray(scaled / scaled.sum())


def processed(row: Row, temperature: float, top_k: int = 0, top_p: float = 1.0) -> Probs:
    """The distribution that is sampled from: temperature, then top-k, then the smallest set that reaches top-p.

    Ties at an edge keep the lower ids.
    """
    probs = softmax(row, temperature)
    if not top_k and top_p >= 1:
        return probs
    order = np.argsort(-probs, kind="stable")
    kept = order[: top_k or len(order)]
    if top_p < 1:
        mass = np.cumsum(probs[kept]) / probs[kept].sum()
        kept = kept[: int(np.searchsorted(mass, top_p)) + 1]
    out = np.zeros_like(probs)
    out[kept] = probs[kept] / probs[kept].sum()
    return out


def draw(probs: Probs, coin: float) -> int:
    """The token whose share of [0, 1) holds ``coin``; never one of probability 0."""
    edges = np.cumsum(probs)
    return min(int(np.searchsorted(edges, coin * edges[-1], side="right")), int(np.flatnonzero(probs)[-1]))


def uniform(seed: int, position: int, purpose: Purpose) -> float:
    """A number in [0, 1) that only depends on its arguments."""
    return float(_generator(seed, position, purpose).random())


def gumbel_noise(seed: int, position: int, vocab_size: int) -> Probs:
    """Standard Gumbel noise for every token at a position."""
    return _generator(seed, position, Purpose.GUMBEL).gumbel(size=vocab_size)


def residual(base_probs: Probs, draft_probs: Probs) -> Probs:
    """``max(p - q, 0)`` normalised; ``p`` itself where nothing is left (p equals q up to rounding)."""
    left = np.maximum(base_probs - draft_probs, 0.0)
    total = left.sum()
    return np.asarray(left / total) if total > 0 else base_probs


class Choice(NamedTuple):
    """What a base chooses on one row."""

    token: int
    p: float
    gap: float


class Sampler(Protocol):
    """How a token is chosen, by the base and by a drafter alike. ``position`` is where the token will stand."""

    def choose(self, row: Row, position: int) -> int:
        """The base's choice."""

    def propose(self, row: Row, position: int) -> Pick:
        """A drafter's choice."""

    def probs(self, row: Row) -> Probs:
        """The base's distribution, for the record and for the rejection rule."""


class Greedy:
    """The argmax of a row."""

    def choose(self, row: Row, position: int) -> int:  # noqa: ARG002
        return argmax(row)

    def propose(self, row: Row, position: int) -> Pick:  # noqa: ARG002
        token = argmax(row)
        p = _top_probability(row)
        return Pick(token, p, p)

    def probs(self, row: Row) -> Probs:
        return softmax(row)


class Gumbel:
    """argmax(log p + noise), the noise fixed by seed, position and token (Gumbel-max trick).

    It samples from p, and a draft that was given the same noise is right wherever drafter and base agree enough.
    """

    def __init__(self, options: Options) -> None:
        self._options = options
        self._noise: tuple[int, Probs] = (-1, np.empty(0))

    def choose(self, row: Row, position: int) -> int:
        options = self._options
        scores: Probs = row.astype(np.float64) / options.temperature
        if options.top_k or options.top_p < 1:
            scores = np.where(self.probs(row) > 0, scores, -np.inf)
        return int((scores + self._at(position, len(row))).argmax())

    def propose(self, row: Row, position: int) -> Pick:
        token = self.choose(row, position)
        p = float(softmax(row)[token])
        return Pick(token, p, p)

    def probs(self, row: Row) -> Probs:
        options = self._options
        return processed(row, options.temperature, options.top_k, options.top_p)

    def _at(self, position: int, vocab_size: int) -> Probs:
        if self._noise[0] != position or len(self._noise[1]) != vocab_size:
            self._noise = (position, gumbel_noise(self._options.seed, position, vocab_size))
        return self._noise[1]


class Rejection:
    """Independent draws: the drafter's token from q, the base's acceptance and correction by the rejection rule.

    Within a run no position is judged, nor chosen for, twice, so ``coins`` may be a function of the position. By
    default they are ``uniform`` with the options' seed.
    """

    def __init__(self, options: Options, coins: Coins | None = None) -> None:
        self._options = options
        self.coins = coins or partial(uniform, options.seed)

    def choose(self, row: Row, position: int) -> int:
        return draw(self.probs(row), self.coins(position, Purpose.CHOOSE))

    def correct(self, base_probs: Probs, draft_probs: Probs, position: int) -> int:
        """The token in place of a rejected draft."""
        return draw(residual(base_probs, draft_probs), self.coins(position, Purpose.CHOOSE))

    def propose(self, row: Row, position: int) -> Pick:
        q = self.probs(row)
        token = draw(q, self.coins(position, Purpose.PROPOSE))
        # The confidence is not that of the token drawn: to drop a draft for what it is would bend the distribution.
        return Pick(token, float(q[token]), _top_probability(row), q)

    def probs(self, row: Row) -> Probs:
        options = self._options
        return processed(row, options.temperature, options.top_k, options.top_p)


AnySampler = Greedy | Gumbel | Rejection


def picker(sampler: AnySampler, tau: float) -> PickRow:
    """How a drafter picks. Where nothing is drawn and nothing held against ``tau``, the figures can wait."""
    if tau > 0:
        return sampler.propose
    match sampler:
        case Greedy():
            return first_best
        case Gumbel():
            return lambda row, position: Pick(sampler.choose(row, position))
        case _:
            return sampler.propose


def sampler_of(options: Options) -> AnySampler:
    """The sampler that the options name."""
    match options.sampler:
        case "gumbel":
            return Gumbel(options)
        case "rejection":
            return Rejection(options)
        case _:
            return Greedy()


def _generator(seed: int, position: int, purpose: Purpose) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(key=[seed, purpose], counter=[0, position, 0, 0]))


def _top_probability(row: Row) -> float:
    return float(1.0 / np.exp(row - row.max()).sum(dtype=np.float64))
