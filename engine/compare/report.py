"""All that two runs differ in, as one value."""

from typing import Any

import msgspec

from engine.compare.divergence import TIED, Divergence, divergence
from engine.compare.settings import doubts, other_prompts, settings, text_settings
from engine.compare.walk import Alignment, Meeting, Side

AROUND = 8
"""Tokens of the text shown before and behind the first difference."""


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """One side: ``figures`` are those of ``specstep stats`` but for the repeated 8-grams, which are not counted.

    ``flip`` is the round after which drafting was off.
    """

    tokens: int
    rounds: int
    flip: int | None
    figures: dict[str, Any]


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What two runs, A (left) and B (right), differ in.

    ``equal`` is ``None`` where a side does not say its tokens. Of the ``common`` tokens that both have, ``differing``
    differ in place. ``before`` are the last tokens ahead of the first difference, ``left_from`` and ``right_from``
    those from it on. ``drafts`` counts the rounds that begin at the same token behind the same text and draft
    otherwise, ``draft`` is the first. ``expected`` says why the texts need not be the same, ``doubts`` what was not
    recorded.
    """

    equal: bool | None
    left: Summary
    right: Summary
    common: int
    differing: int
    first: Divergence | None
    tie: float
    before: tuple[int, ...] = ()
    left_from: tuple[int, ...] = ()
    right_from: tuple[int, ...] = ()
    drafts: int
    draft: Meeting | None
    settings: dict[str, tuple[Any, Any]]
    expected: tuple[str, ...]
    doubts: tuple[str, ...]


def report(alignment: Alignment, tie: float = TIED) -> Report:
    """The report of two runs that were read to their ends.

    Raises:
        TraceError: a round cannot be read.
    """
    left, right = alignment.left.source.header, alignment.right.source.header
    first = divergence(alignment, tie)
    at = None if first is None else first.token
    met = [] if other_prompts(left, right) else alignment.drafts
    return Report(
        equal=first is None if alignment.known else None,
        left=_summary(alignment.left),
        right=_summary(alignment.right),
        common=alignment.common,
        differing=alignment.differing,
        first=first,
        tie=tie,
        before=() if at is None else text(alignment.left, at - AROUND, at),
        left_from=() if at is None else text(alignment.left, at, at + AROUND),
        right_from=() if at is None else text(alignment.right, at, at + AROUND),
        drafts=len(met),
        draft=met[0] if met else None,
        settings={name: (a, b) for name, a, b in settings(left, right)},
        expected=tuple(text_settings(left, right)),
        doubts=tuple(doubts(left, right)),
    )


def text(side: Side, start: int, stop: int) -> tuple[int, ...]:
    """The emitted tokens of a side from ``start`` up to ``stop``, as far as there are any."""
    start, stop = max(start, 0), min(stop, side.tokens)
    if start >= stop:
        return ()
    tokens: list[int] = []
    index = side.round_of(start)
    offset = side.starts[index]
    while offset + len(tokens) < stop:
        tokens += side.source.round(index).emitted or ()
        index += 1
    return tuple(tokens[start - offset : stop - offset])


def _summary(side: Side) -> Summary:
    source = side.source
    figures = side.stats.as_map(source.prefill, source.end, source.header.detail)
    return Summary(tokens=side.tokens, rounds=len(side.starts), flip=side.flip, figures=figures)
