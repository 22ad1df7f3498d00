"""Which of a round's drafts the base confirms. Pure: rows of logits in, a decision out."""

import math
from collections.abc import Sequence, Set
from typing import NamedTuple

import numpy as np

from engine.base.base import Floats
from engine.drafters.drafter import Draft
from engine.errors import EngineFault
from engine.records import Candidates
from engine.sampling import AnySampler, Greedy, Gumbel, Purpose, Rejection, argmax


class Decision(NamedTuple):
    """The outcome of a round over n drafts (rows 0..n of the base).

    ``targets`` has n + 1 entries, as the trace format has them; ``stopped`` says that a stop token among the accepted
    drafts ended the run and shortened ``take``; ``u`` are the uniform numbers used, one for each draft judged.
    """

    take: int
    stopped: bool
    targets: tuple[int, ...]
    next: int
    u: tuple[float, ...] | None = None


class RowFacts(NamedTuple):
    """What a round records of its rows: probabilities of targets and drafts, top-1/top-2 gaps, non-finite logits."""

    target_p: tuple[float, ...]
    accept_p: tuple[float, ...]
    gap: tuple[float, ...]
    nonfinite: int


def leading_matches(drafts: Sequence[int], targets: Sequence[int]) -> int:
    """How many leading drafts are the base's own choices."""
    take = 0
    while take < len(drafts) and drafts[take] == targets[take]:
        take += 1
    return take


def shorten_at_stop(drafts: Sequence[int], take: int, stop_tokens: Set[int]) -> tuple[int, bool]:
    """``take`` up to and with the first stop token among the accepted drafts, and whether there was one."""
    for j in range(take):
        if drafts[j] in stop_tokens:
            return j + 1, True
    return take, False


def greedy_round(
    draft: Draft, logits: Floats, position: int, sampler: Greedy | Gumbel, stop_tokens: Set[int]
) -> Decision:
    """Keep the drafts that equal the base's choices. ``position`` is where draft 1 stands, ``logits`` rows 0..n.

    Raises:
        EngineFault: a row that the decision uses is not finite.
    """
    targets: list[int] = logits.argmax(axis=1).tolist()
    # A NaN is the maximum of its row for argmax, as infinity is.
    finite = [math.isfinite(logits.item(j, token)) for j, token in enumerate(targets)]
    sound = all(finite)
    if not sound or isinstance(sampler, Gumbel):
        for j, row in enumerate(logits):
            if not finite[j]:
                targets[j] = argmax(np.nan_to_num(row, nan=-np.inf, posinf=-np.inf))
            elif isinstance(sampler, Gumbel):
                targets[j] = sampler.choose(row, position + j)
    take, stopped = shorten_at_stop(draft.tokens, leading_matches(draft.tokens, targets), stop_tokens)
    if not sound:
        _require_finite(finite, take, position)
    return Decision(take, stopped, tuple(targets), targets[take])


def sampled_round(draft: Draft, logits: Floats, position: int, sampler: Rejection, stop_tokens: Set[int]) -> Decision:
    """The rejection rule (Leviathan et al., 2023): accept x with probability p(x) / q(x), else draw from the residual.

    A draft without ``q`` was picked deterministically: its q is one-hot.

    Raises:
        EngineFault: a row that the decision uses is not finite.
    """
    finite = finite_rows(logits).tolist()
    take, stopped, u, correction = 0, False, [], None
    for j, token in enumerate(draft.tokens):
        _require_finite(finite, j, position)
        p = sampler.probs(logits[j])
        q = draft.q[j] if draft.q is not None else np.eye(1, len(p), token)[0]
        u.append(sampler.coins(position + j, Purpose.ACCEPT))
        if not u[-1] * q[token] < p[token]:
            correction = sampler.correct(p, q, position + j)
            break
        take += 1
        if token in stop_tokens:
            stopped = True
            break
    _require_finite(finite, take, position)
    if correction is None:
        correction = sampler.choose(logits[take], position + take)
    behind = tuple(argmax(np.nan_to_num(row, nan=-np.inf, posinf=-np.inf)) for row in logits[take + 1 :])
    return Decision(take, stopped, (*draft.tokens[:take], correction, *behind), correction, tuple(u))


def decide(draft: Draft, logits: Floats, position: int, sampler: AnySampler, stop_tokens: Set[int]) -> Decision:
    """The decision by the rule that goes with the sampler."""
    match sampler:
        case Rejection():
            return sampled_round(draft, logits, position, sampler, stop_tokens)
        case _:
            return greedy_round(draft, logits, position, sampler, stop_tokens)


def row_facts(draft: Draft, logits: Floats, targets: Sequence[int], sampler: AnySampler) -> RowFacts:
    """Probabilities and gaps for the record; a row that is not finite has NaN for each."""
    if isinstance(sampler, Greedy) and (facts := _greedy_facts(draft, logits, targets)) is not None:
        return facts
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
    )


def _greedy_facts(draft: Draft, logits: Floats, targets: Sequence[int]) -> RowFacts | None:
    """The facts of rows that are finite, ``None`` if one is not.

    ``None`` too where a target is not the best of its row. A few calls over all rows, and single numbers by ``item``:
    indexing by arrays costs more than the softmax here.
    """
    top = np.maximum.reduce(logits, axis=1, keepdims=True)
    if not all(math.isfinite(top.item(j)) and logits.item(j, token) == top.item(j) for j, token in enumerate(targets)):
        return None
    scaled = logits - top
    for j, token in enumerate(targets):
        scaled[j, token] = -math.inf
    gap = [0.0 - scaled.item(j, second) for j, second in enumerate(scaled.argmax(axis=1).tolist())]
    for j, token in enumerate(targets):
        scaled[j, token] = 0.0
    np.exp(scaled, out=scaled)
    total: list[float] = np.add.reduce(scaled, axis=1).tolist()
    return RowFacts(
        tuple([scaled.item(j, token) / total[j] for j, token in enumerate(targets)]),
        tuple([scaled.item(j, token) / total[j] for j, token in enumerate(draft.tokens)]),
        tuple(gap),
        0,
    )


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
    """The best ``count`` (token, logit) pairs of each row, best first, ties by id; ``None`` where nothing is asked."""
    if logits is None or not count:
        return None
    rows, rest = np.arange(len(logits)), logits.copy()
    best = np.empty((len(logits), min(count, logits.shape[1])), np.intp)
    # A few maxima of all rows are found sooner than a partition of each.
    for place in range(best.shape[1]):
        best[:, place] = rest.argmax(axis=1)
        rest[rows, best[:, place]] = -np.inf
    values = logits[rows[:, None], best]
    if not np.isfinite(values).all():
        return tuple(tuple((token, float(row[token])) for token in _best(row, count)) for row in logits)
    return tuple(tuple(zip(*row, strict=True)) for row in zip(best.tolist(), values.tolist(), strict=True))


def _best(row: Floats, count: int) -> list[int]:
    """The best tokens of a row that may hold NaN, which is none of them, or infinities."""
    if count < len(row):
        edge = np.partition(row, len(row) - count)[len(row) - count]
        reach = np.flatnonzero(row >= edge)
    else:
        reach = np.arange(len(row))
    best: list[int] = reach[np.argsort(-row[reach], kind="stable")][:count].tolist()
    return best


def _require_finite(finite: Sequence[bool], row: int, position: int) -> None:
    for j in range(row + 1):
        if not finite[j]:
            raise EngineFault(
                f"row {j} of the pass is not finite (it decides the token at position {position + j}): "
                "a NaN or infinity came out of the base; look at the kernel or the cache row behind it"
            )
