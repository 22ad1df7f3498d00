"""Where two texts part: who decided what, by how much, and whether that is a tie, a defect, or to be expected."""

from enum import StrEnum

import msgspec

from engine.compare.settings import text_settings
from engine.compare.walk import Alignment, Side

TIED = 1e-4
"""Logits. The same row from passes of another width, in float32, differs by less: a gap up to this is decided by
noise. Half precision and quantised arithmetic are noisier."""


class Cause(StrEnum):
    """Why two texts part."""

    TIE = "near-tie"
    """Each side chose between tokens that are closer than numeric noise: not a defect."""
    DEFECT = "defect"
    """A side chose by more than noise what the other did not."""
    SETTINGS = "settings"
    """The runs were told to make other texts."""
    LENGTH = "length"
    """One text is the beginning of the other."""
    UNKNOWN = "unknown"
    """The gaps that would tell a tie from a defect are not recorded, or do not decide it."""


class Choice(msgspec.Struct, frozen=True):
    """How a side came to a token of its text: ``token`` is ``None`` where the text had ended.

    ``emitted_in`` is the round that emitted it and ``decided_in`` the one whose row ``row`` chose it (``None``: the
    prefill), ``gap`` that row's top-1/top-2 gap in logits.
    """

    token: int | None
    emitted_in: int | None = None
    decided_in: int | None = None
    row: int | None = None
    gap: float | None = None


class Divergence(msgspec.Struct, frozen=True):
    """The first token (from 0) that differs, what each side chose there, and why."""

    token: int
    left: Choice
    right: Choice
    cause: Cause


def divergence(alignment: Alignment, tie: float = TIED) -> Divergence | None:
    """The first difference of two texts, ``None`` where they are equal or not known.

    Raises:
        TraceError: a round cannot be read.
    """
    token = alignment.first
    if token is None or not alignment.known:
        return None
    left, right = choice(alignment.left, token), choice(alignment.right, token)
    return Divergence(token, left, right, _cause(alignment, left, right, tie))


def choice(side: Side, token: int) -> Choice:
    """How a side came to its token number ``token``."""
    if token >= side.tokens:
        return Choice(None)
    emitted_in = side.round_of(token)
    round_ = side.source.round(emitted_in)
    place = token - side.starts[emitted_in]
    chosen = (round_.emitted or ())[place]
    if place:
        return Choice(chosen, emitted_in, emitted_in, place - 1, _at(round_.gap, place - 1))
    if emitted_in == 0:
        return Choice(chosen, emitted_in, gap=side.source.prefill.gap if side.source.prefill else None)
    before = side.source.round(emitted_in - 1)
    return Choice(chosen, emitted_in, emitted_in - 1, before.take, _at(before.gap, before.take))


def _cause(alignment: Alignment, left: Choice, right: Choice, tie: float) -> Cause:
    if text_settings(alignment.left.source.header, alignment.right.source.header):
        return Cause.SETTINGS
    if left.token is None or right.token is None:
        return Cause.LENGTH
    sampler = alignment.left.source.header.options.get("sampler", "greedy")
    gaps = [choice.gap for choice in (left, right) if choice.gap is not None]
    if not gaps or sampler != "greedy":
        return Cause.UNKNOWN
    # That both sides lean to their own token takes noise of the size of either gap.
    return Cause.TIE if max(gaps) <= tie else Cause.DEFECT


def _at(values: tuple[float, ...] | None, place: int) -> float | None:
    return values[place] if values is not None and place < len(values) else None
