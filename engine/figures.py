"""What a round records of its rows of logits: probabilities, gaps, the best tokens. Pure but for memory used again."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from engine.base.base import Floats
from engine.drafters.drafter import Draft
from engine.records import Candidates
from engine.sampling import AnySampler, Greedy, Rejection

_LOW, _HIGH = -20.0, 75.0
"""Between these a row's best logit needs no shift: no exponential overflows, not their sum over any vocabulary, and
what becomes zero is less than 1e-29 of the best."""


class RowFacts(NamedTuple):
    """What is said of the base's rows: probabilities of targets and drafts, gaps, non-finite logits, best tokens."""

    target_p: tuple[float, ...]
    accept_p: tuple[float, ...]
    gap: tuple[float, ...]
    nonfinite: int
    top: Candidates | None


class DraftFacts(NamedTuple):
    """What is said of a draft: its probabilities, and the best tokens of the rows it was picked from."""

    p: tuple[float, ...] | None
    top: Candidates | None


class Figures:
    """Reads the figures of a run's rounds; ``candidates`` is how many of the best tokens of each row to give.

    Right after a pass next to nothing of Python or numpy is in the processor's caches, and what runs for the first time
    costs several times its work. So rows are read by few kinds of calls, all at once, numbers by ``item``, in loops
    that are no functions of their own as comprehensions are.
    """

    def __init__(self, candidates: int = 0) -> None:
        self._candidates = candidates
        self._memory: Floats = np.empty((0, 0), np.float32)

    def of_rows(self, draft: Draft, logits: Floats, targets: Sequence[int], sampler: AnySampler) -> RowFacts:
        """Of the base's rows; a row that is not finite has NaN for each figure."""
        if isinstance(sampler, Greedy) and (facts := self._greedy(draft, logits, targets)) is not None:
            return facts
        return self._any(draft, logits, targets, sampler)

    def of_draft(self, draft: Draft, sampler: AnySampler) -> DraftFacts:
        """Of a draft: the drafter's own figures; under the rejection rule what it divides by, 1 for one not drawn."""
        logits, p = draft.logits, draft.p
        if not draft.tokens:
            return DraftFacts(None, candidates_of(logits, self._candidates))
        if isinstance(sampler, Rejection):
            p = (1.0,) * len(draft.tokens)
            if draft.q is not None:
                p = tuple(float(q[token]) for token, q in zip(draft.tokens, draft.q, strict=True))
        if logits is None or (p is not None and not self._candidates):
            return DraftFacts(p, None)
        tokens = logits.argmax(axis=1).tolist()
        best = []
        for j, token in enumerate(tokens):
            best.append(logits.item(j, token))
        top = None
        if self._candidates:
            rest = self._room(logits)
            rest[...] = logits
            top = self._top(logits, rest, [tokens], [best])
        if p is None:
            p = self._probabilities(logits, best, draft.tokens)[0]
        return DraftFacts(p, top)

    def _greedy(self, draft: Draft, logits: Floats, targets: Sequence[int]) -> RowFacts | None:
        """Of rows that are finite, ``None`` if one is not. ``None`` too where a target is not the best of its row."""
        rest = self._room(logits)
        rest[...] = logits
        best, gap, seconds = [], [], []
        for j, token in enumerate(targets):
            best.append(rest.item(j, token))
            rest[j, token] = -math.inf
        tokens = rest.argmax(axis=1).tolist()
        for j, token in enumerate(tokens):
            seconds.append(rest.item(j, token))
            gap.append(best[j] - seconds[j])
            if not (gap[j] >= 0 and best[j] < math.inf):
                return None
        top = self._top(logits, rest, [targets, tokens], [best, seconds]) if self._candidates else None
        target_p, accept_p = self._probabilities(logits, best, targets, draft.tokens)
        return RowFacts(target_p, accept_p, tuple(gap), 0, top)

    def _any(self, draft: Draft, logits: Floats, targets: Sequence[int], sampler: AnySampler) -> RowFacts:
        finite = finite_rows(logits)
        probs = [
            sampler.probs(row) if good else np.full(len(row), np.nan) for row, good in zip(logits, finite, strict=True)
        ]
        gap = np.full(len(logits), np.nan)
        gap[finite] = top_gaps(logits[finite])
        bad = logits[~finite]
        return RowFacts(
            tuple(float(p[token]) for p, token in zip(probs, targets, strict=True)),
            tuple(float(p[token]) for p, token in zip(probs, draft.tokens, strict=False)),
            tuple(gap.tolist()),
            int((np.isnan(bad) | (bad == np.inf)).sum()),
            candidates_of(logits, self._candidates),
        )

    def _probabilities(
        self, logits: Floats, best: Sequence[float], *wanted: Sequence[int]
    ) -> tuple[tuple[float, ...], ...]:
        """The probabilities of tokens, one a row from the first on, in rows whose best logits are given."""
        scaled = self._room(logits)
        if min(best) > _LOW and max(best) < _HIGH:
            np.exp(logits, out=scaled)
        else:
            np.subtract(logits, np.array(best, np.float32)[:, None], out=scaled)
            np.exp(scaled, out=scaled)
        totals = np.add.reduce(scaled, axis=1).tolist()
        found = []
        for tokens in wanted:
            p = []
            for j, token in enumerate(tokens):
                p.append(scaled.item(j, token) / totals[j])
            found.append(tuple(p))
        return tuple(found)

    def _top(
        self, logits: Floats, rest: Floats, tokens: list[Sequence[int]], values: list[list[float]]
    ) -> Candidates | None:
        """The best of each row, going on from those known, place by place; ``rest`` are the rows without the first."""
        count = min(self._candidates, logits.shape[1])
        while len(tokens) < count:
            for j, token in enumerate(tokens[-1]):
                rest[j, token] = -math.inf
            tokens.append(rest.argmax(axis=1).tolist())
            found = []
            for j, token in enumerate(tokens[-1]):
                found.append(rest.item(j, token))
            values.append(found)
        if not math.isfinite(sum(map(sum, values[:count]))):
            return candidates_of(logits, count)
        places = [zip(*place, strict=True) for place in zip(tokens[:count], values[:count], strict=True)]
        return tuple(zip(*places, strict=True))

    def _room(self, logits: Floats) -> Floats:
        """Memory for as many rows, which the next call overwrites."""
        rows, width = logits.shape
        if len(self._memory) < rows or self._memory.shape[1] != width:
            self._memory = np.empty((rows, width), np.float32)
        return self._memory[:rows]


def finite_rows(logits: Floats) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which rows can decide something: no NaN, no +inf, at least one finite entry (-inf masks a token)."""
    return np.asarray(np.isfinite(logits.max(axis=1)))


def top_gaps(logits: Floats) -> Floats:
    """The best logit minus the second best of each finite row; infinity where all but one are masked."""
    rows, best = np.arange(len(logits)), logits.argmax(axis=1)
    rest = logits.copy()
    rest[rows, best] = -np.inf
    return np.asarray(logits[rows, best] - rest.max(axis=1))


def candidates_of(logits: Floats | None, count: int) -> Candidates | None:
    """The best ``count`` (token, logit) pairs of each row, best first, ties by id; ``None`` where nothing is asked.

    A NaN is no candidate.
    """
    if logits is None or not count:
        return None
    return tuple(tuple((token, float(row[token])) for token in _best(row, count)) for row in logits)


def _best(row: Floats, count: int) -> list[int]:
    """The best tokens of a row that may hold NaN, which is none of them, or infinities."""
    if count < len(row):
        edge = np.partition(row, len(row) - count)[len(row) - count]
        reach = np.flatnonzero(row >= edge)
    else:
        reach = np.arange(len(row))
    best: list[int] = reach[np.argsort(-row[reach], kind="stable")][:count].tolist()
    return best
