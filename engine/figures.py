"""What a round records of its rows of logits: probabilities, gaps, the best tokens. Pure but for memory used again."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from engine.base.base import Floats
from engine.drafters.drafter import Draft, full_softmax_at
from engine.records import Candidates
from engine.sampling import AnySampler, Greedy, Rejection

_HIGH = 75.0
"""No logit up to here has an exponential that overflows, nor has their sum over any vocabulary."""

_LEAST = 1e-9
"""A sum of exponentials that is larger is exact enough, for what became zero is less than 1e-29 of it."""


class Facts(NamedTuple):
    """What is said of a round: of the base's rows, and (``draft_p``, ``draft_top``) of those its drafts came from.

    Probabilities of targets and drafts, the gaps between the two best, non-finite logits, and the best tokens.
    """

    target_p: tuple[float, ...]
    accept_p: tuple[float, ...]
    gap: tuple[float, ...]
    nonfinite: int
    top: Candidates | None
    draft_p: tuple[float, ...] | None
    draft_top: Candidates | None


class _Place(NamedTuple):
    """Of each row the token that stands at one place, and its logit."""

    tokens: list[int]
    logits: list[float]


class Figures:
    """Reads the figures of a run's rounds; ``candidates`` is how many of the best tokens of each row to give.

    Right after a pass next to nothing of Python or numpy is in the processor's caches, and what runs for the first time
    costs several times its work. So the rows of base and drafter are read together and by few kinds of calls, numbers
    by ``item``, in loops that are no functions of their own as comprehensions are.
    """

    def __init__(self, candidates: int = 0) -> None:
        self._candidates = candidates
        self._memory: Floats = np.empty((0, 0), np.float32)

    def of(self, draft: Draft, logits: Floats, targets: Sequence[int], sampler: AnySampler) -> Facts:
        """Of a round; a row of the base that is not finite has NaN for each figure.

        ``draft_p`` are the drafter's own; under the rejection rule what it divides by, 1 for a draft not drawn.

        Raises:
            EngineFault: a draft was picked from a logit that is not finite.
        """
        if isinstance(sampler, Greedy) and (facts := self._greedy(draft, logits, targets)) is not None:
            return facts
        draft.check_logits()
        return self._any(draft, logits, targets, sampler)

    def _greedy(self, draft: Draft, logits: Floats, targets: Sequence[int]) -> Facts | None:
        """``None`` where a row has to be read by itself.

        It is not finite or its numbers are large, or what was chosen from it, by base or drafter, is not its best.
        """
        count, drafted, first = len(targets), None, [*targets]
        if draft.tokens and (draft.p is None or self._candidates):
            drafted = draft.logits
        if drafted is not None and drafted.shape != (len(draft.tokens), logits.shape[1]):
            return None
        memory = self._room(count if drafted is None else count + len(drafted), logits.shape[1])
        rows = memory[:count]
        rows[...] = logits
        if drafted is not None and self._candidates:
            rows, first = memory, [*targets, *draft.tokens]
            rows[count:] = drafted
        best, second, gap = [], [], []
        for j, token in enumerate(first):
            best.append(rows.item(j, token))
            rows[j, token] = -math.inf
        tokens = rows.argmax(axis=1).tolist()
        for j, token in enumerate(tokens):
            value = rows.item(j, token)
            second.append(value)
            gap.append(best[j] - value)
            if not value <= best[j] or (value == best[j] and token <= first[j]):
                return None
        top = self._places(rows, _Place(first, best), _Place(tokens, second)) if self._candidates else ()
        highest = max(best)
        if drafted is not None and rows is not memory:
            highest = max(highest, drafted.item(drafted.argmax()))
        totals = _exponentials(memory, logits, drafted) if highest <= _HIGH else None
        if top is None or totals is None:
            return None
        p, accept_p, draft_p = [], [], []
        for j, token in enumerate(targets):
            p.append(memory.item(j, token) / totals[j])
        for j, token in enumerate(draft.tokens):
            accept_p.append(memory.item(j, token) / totals[j])
            if drafted is not None:
                draft_p.append(memory.item(count + j, token) / totals[count + j])
        if drafted is not None and not min(draft_p) > 0:
            return None
        return Facts(
            tuple(p),
            tuple(accept_p),
            tuple(gap[:count]),
            0,
            top[:count] if self._candidates else None,
            (tuple(draft_p) if draft.p is None and drafted is not None else draft.p) if draft.tokens else None,
            top[count:] if self._candidates and draft.logits is not None else None,
        )

    def _places(self, rows: Floats, best: _Place, second: _Place) -> Candidates | None:
        """The best of each row, place by place; ``rows`` are without the first. ``None`` where they are not finite."""
        count = min(self._candidates, rows.shape[1])
        places = [zip(*best, strict=True), zip(*second, strict=True)]
        tokens, found = second
        for _ in range(2, count):
            for j, token in enumerate(tokens):
                rows[j, token] = -math.inf
            tokens, found = rows.argmax(axis=1).tolist(), []
            for j, token in enumerate(tokens):
                found.append(rows.item(j, token))
            places.append(zip(tokens, found, strict=True))
        if count > 1 and min(found) == -math.inf:
            return None
        return tuple(zip(*places[:count], strict=True))

    def _room(self, count: int, width: int) -> Floats:
        """Memory for so many rows, which the next round overwrites."""
        if len(self._memory) < count or self._memory.shape[1] != width:
            self._memory = np.empty((count, width), np.float32)
        return self._memory[:count]

    def _any(self, draft: Draft, logits: Floats, targets: Sequence[int], sampler: AnySampler) -> Facts:
        finite = finite_rows(logits)
        probs = [
            sampler.probs(row) if good else np.full(len(row), np.nan) for row, good in zip(logits, finite, strict=True)
        ]
        gap = np.full(len(logits), np.nan)
        gap[finite] = top_gaps(logits[finite])
        bad = logits[~finite]
        return Facts(
            tuple(float(p[token]) for p, token in zip(probs, targets, strict=True)),
            tuple(float(p[token]) for p, token in zip(probs, draft.tokens, strict=False)),
            tuple(gap.tolist()),
            int((np.isnan(bad) | (bad == np.inf)).sum()),
            candidates_of(logits, self._candidates),
            _draft_p(draft, sampler),
            candidates_of(draft.logits, self._candidates),
        )


def _exponentials(memory: Floats, logits: Floats, drafted: Floats | None) -> list[float] | None:
    """Fill ``memory`` with the exponentials of all rows and give their sums, ``None`` where one is too small or NaN."""
    np.exp(logits, out=memory[: len(logits)])
    if drafted is not None:
        np.exp(drafted, out=memory[len(logits) :])
    totals: list[float] = np.add.reduce(memory, axis=1).tolist()
    return totals if min(totals) > _LEAST and sum(totals) < math.inf else None


def _draft_p(draft: Draft, sampler: AnySampler) -> tuple[float, ...] | None:
    if not draft.tokens:
        return None
    if not isinstance(sampler, Rejection):
        if draft.p is None and draft.logits is not None:
            return tuple(full_softmax_at(draft.logits, draft.tokens))
        return draft.p
    if draft.q is None:
        return (1.0,) * len(draft.tokens)
    return tuple(float(q[token]) for token, q in zip(draft.tokens, draft.q, strict=True))


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
