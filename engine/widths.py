"""Whether a row depends on the width of the pass that makes it: one batch against single steps, bit by bit."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from engine.base.base import Base, Floats
from engine.errors import EngineFault
from engine.figures import finite_rows, top_gaps

MORE_THAN_ROUNDING = 1e-2
"""Logits further apart than this were not computed alike: float32 in another order differs by less than 1e-3."""


class Pair(NamedTuple):
    """The rows ``[n, vocab]`` of the same n tokens, from one batch and from a step each."""

    batch: Floats
    steps: Floats


class Comparison(msgspec.Struct, frozen=True):
    """How far rows of two origins agree.

    ``identical`` of ``rows`` are the same bit by bit, ``difference`` is the largest of any logit, ``flips`` are rows
    whose most likely token changed, ``gap`` is the smallest distance between the best two logits of a row: a difference
    that reaches it can flip that row.
    """

    rows: int
    identical: int
    difference: float
    flips: int
    gap: float


def run_both_ways(base: Base, tokens: Sequence[int]) -> Pair:
    """Run ``tokens`` behind what the base holds in one batch, take them back, run them one by one, take them back.

    Raises:
        EngineFault: the base broke, they do not fit it, or a row is not finite.
    """
    held = base.consumed
    batch = base.verify(tokens).logits.copy()
    base.rollback(held)
    steps = np.stack([base.step(token).logits[-1].copy() for token in tokens])
    base.rollback(held)
    for rows in (batch, steps):
        if not finite_rows(rows).all():
            raise EngineFault(f"{base.info.name}: a row behind position {held} is not finite: look at its weights")
    return Pair(batch, steps)


def compare(pair: Pair) -> Comparison:
    """Compare row by row."""
    batch, steps = pair
    same = (batch == steps).all(axis=1)
    # Equal masks of minus infinity are no difference, but their difference is NaN.
    apart = np.abs(np.subtract(batch, steps, out=np.zeros_like(batch), where=batch != steps))
    return Comparison(
        rows=len(steps),
        identical=int(same.sum()),
        difference=float(apart.max()),
        flips=int((batch.argmax(axis=1) != steps.argmax(axis=1)).sum()),
        gap=float(min(top_gaps(batch).min(), top_gaps(steps).min())),
    )


def pooled(comparisons: Sequence[Comparison]) -> Comparison:
    """Several as one."""
    return Comparison(
        rows=sum(each.rows for each in comparisons),
        identical=sum(each.identical for each in comparisons),
        difference=max(each.difference for each in comparisons),
        flips=sum(each.flips for each in comparisons),
        gap=min(each.gap for each in comparisons),
    )


def plain_width_warning(base: Base, prompt: Sequence[int], batch: int) -> str | None:
    """What to say where a padded plain step is not the twin of a row in a ``batch``, as it is meant to be.

    The base holds ``prompt``; tokens of it are run behind it again, as many as fit, and taken back.

    Raises:
        EngineFault: the base broke, or a row is not finite.
    """
    found = _compared_behind(base, prompt, batch)
    if found is None or found.identical == found.rows:
        return None
    return (
        f"a padded plain step is not the exact twin of a row of a batch of {found.rows} on this machine: "
        f"{found.rows - found.identical} of {found.rows} rows differ, by up to {found.difference:.2g}, and "
        f"{found.flips} choose another token, so that plain and speculative text may part at a near tie"
    )


def batch_warning(base: Base, prompt: Sequence[int], batch: int) -> str | None:
    """What to say where the rows of a ``batch`` and single steps choose different tokens.

    They are run as in ``plain_width_warning``. Where it is no near tie, a provider or a driver computes one of them
    wrong.

    Raises:
        EngineFault: the base broke, or a row is not finite.
    """
    found = _compared_behind(base, prompt, batch)
    if found is None or not found.flips:
        return None
    return (
        f"a batch of {found.rows} rows and single steps choose different tokens on {found.flips} of {found.rows} rows "
        f"here, where logits differ by up to {found.difference:.2g} and the closest choice has a gap of "
        f"{found.gap:.2g}: plain and speculative text will part"
    )


def quantised_warning(base: Base, prompt: Sequence[int], batch: int) -> str | None:
    """What to say where the rows of a quantised graph depend on how many are in their pass by more than rounding.

    They are run as in ``plain_width_warning``.

    Raises:
        EngineFault: the base broke, or a row is not finite.
    """
    found = _compared_behind(base, prompt, batch)
    if found is None or found.difference < MORE_THAN_ROUNDING:
        return None
    flips = f"{found.flips} of {found.rows} rows choose another token" if found.flips else "no choice changes here"
    return (
        "plain and speculative text may part without --plain-width 2: this graph is quantised, and a row depends on "
        f"how many are in its pass (a batch of {found.rows} and single steps differ by up to {found.difference:.2g}, "
        f"{flips})"
    )


def _compared_behind(base: Base, prompt: Sequence[int], batch: int) -> Comparison | None:
    """Both ways over tokens of the prompt behind it; ``None`` where fewer than two fit."""
    room = batch if base.context_length is None else min(batch, base.context_length - base.consumed)
    if room < 2:
        return None
    return compare(run_both_ways(base, [prompt[i % len(prompt)] for i in range(room)]))
