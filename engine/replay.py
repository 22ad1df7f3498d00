"""Brings a base to the text of given rounds: what it holds too much is cut, what it lacks is fed to it again."""

from collections.abc import Sequence

from engine.base.base import Base
from engine.drafters.drafter import Drafter
from engine.records import Round


def hold(base: Base, drafter: Drafter | None, prompt: Sequence[int], kept: Sequence[Round]) -> None:
    """Make ``base``, which holds ``prompt``, hold the text of ``kept`` behind it, and perhaps more of the same run.

    Nothing is drafted: each round's tokens are fed in a pass of their own. ``drafter`` is cut to what the text before
    and the text now have in common, and catches up when the run is rewound.

    Raises:
        EngineFault: the base broke; it may hold any part of the text.
    """
    text = [*prompt, *(token for round_ in kept for token in round_.emitted or ())]
    common = _common(base.tokens, text)
    if common == len(text):
        return
    base.rollback(common)
    if drafter is not None:
        drafter.rollback(min(common, drafter.consumed))
    stop = len(prompt)
    for round_ in kept:
        stop += round_.count
        missing = text[base.consumed : stop]
        if len(missing) == 1:
            base.step(missing[0])
        elif missing:
            base.verify(missing)


def _common(left: Sequence[int], right: Sequence[int]) -> int:
    """How many leading tokens are the same."""
    for i, (a, b) in enumerate(zip(left, right, strict=False)):
        if a != b:
            return i
    return min(len(left), len(right))
