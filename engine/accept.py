"""Which of a round's drafts the base confirms. Pure: rows of logits in, a decision out."""

import math
from collections.abc import Sequence, Set
from typing import NamedTuple

import numpy as np

from engine.base.base import Floats
from engine.drafters.drafter import Draft
from engine.errors import EngineFault
from engine.figures import finite_rows
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
    finite = []
    for j, token in enumerate(targets):
        finite.append(math.isfinite(logits.item(j, token)))
    sound = False not in finite
    if not sound or isinstance(sampler, Gumbel):
        for j, row in enumerate(logits):
            if not finite[j]:
                targets[j] = argmax(np.nan_to_num(row, nan=-np.inf, posinf=-np.inf))
            elif isinstance(sampler, Gumbel):
                targets[j] = sampler.choose(row, position + j)
    take, stopped = leading_matches(draft.tokens, targets), False
    if take:
        take, stopped = shorten_at_stop(draft.tokens, take, stop_tokens)
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
    if isinstance(sampler, Rejection):
        return sampled_round(draft, logits, position, sampler, stop_tokens)
    return greedy_round(draft, logits, position, sampler, stop_tokens)


def _require_finite(finite: Sequence[bool], row: int, position: int) -> None:
    for j in range(row + 1):
        if not finite[j]:
            raise EngineFault(
                f"row {j} of the pass is not finite (it decides the token at position {position + j}): "
                "a NaN or infinity came out of the base; look at the kernel or the cache row behind it"
            )
