"""A report of two runs in words: the verdict first. What the sides are called is up to the reader."""

from typing import Any, NamedTuple

from engine.compare.divergence import Cause, Choice
from engine.compare.report import Report, Summary

_FIGURES = (
    ("tokens emitted", "emitted"),
    ("ended by", "reason"),
    ("drafted rounds", "rounds"),
    ("plain rounds", "plain_rounds"),
    ("tokens a round", "tokens_per_round"),
    ("drafts accepted", "draft_acceptance_rate"),
    ("tokens/s", "tokens_per_second"),
    ("break-even", "break_even"),
    ("speed-up", "speedup"),
    ("plain step ms", "plain_ms"),
    ("first token ms", "ttft_ms"),
)


class Row(NamedTuple):
    """A figure of both sides, as text."""

    name: str
    left: str
    right: str


def verdict(found: Report, names: tuple[str, str] = ("A", "B")) -> str:
    """Equal or different, from where on, and why, in one sentence."""
    first, common = found.first, found.common
    if found.equal is None:
        return "NOT KNOWN: counts are recorded and no tokens"
    if first is None:
        drafts = f"; {found.drafts} rounds behind the same text draft otherwise" if found.drafts else ""
        return f"EQUAL: the same {common} tokens{drafts}"
    if first.left.token is None:
        return _shorter(common, names[0], found.left, names[1], found.right)
    if first.right.token is None:
        return _shorter(common, names[1], found.right, names[0], found.left)
    rest = f"DIFFERENT from token {first.token} on (of {found.left.tokens} and {found.right.tokens})"
    return f"{rest}: {_why(found, first.cause, first.left, first.right)}"


def gaps(left: Choice, right: Choice) -> str:
    """The gaps that both sides chose by."""
    known = [f"{choice.gap:.2g}" for choice in (left, right) if choice.gap is not None]
    return " and ".join(dict.fromkeys(known))


def decided(choice: Choice) -> str:
    """Where a side decided a token."""
    if choice.token is None:
        return "no token: the text ended before"
    where = "by the prefill" if choice.decided_in is None else f"in round {choice.decided_in}, row {choice.row}"
    return where if choice.gap is None else f"{where}, gap {choice.gap:.2g}"


def rows(found: Report) -> list[Row]:
    """What both sides came to: a name and the figure of each; rows that neither side knows are left out."""
    sides = (found.left, found.right)
    left, right = (side.figures for side in sides)
    deepest = max(len(figures["per_position"]["unconditional"]) for figures in (left, right))
    phases = dict.fromkeys([*left["ms"], *right["ms"]])
    shown = [
        *(Row(name, _figure(left.get(key)), _figure(right.get(key))) for name, key in _FIGURES),
        Row("flip after round", *("never" if side.flip is None else str(side.flip) for side in sides)),
        *(Row(f"accepted at {i + 1}", _position(left, i), _position(right, i)) for i in range(deepest)),
        *(Row(f"{phase} ms, median", _median(left, phase), _median(right, phase)) for phase in phases),
    ]
    return [row for row in shown if (row.left, row.right) != ("-", "-")]


def _shorter(common: int, short: str, ended: Summary, long: str, other: Summary) -> str:
    how = ended.figures["reason"]
    ends = f"ends there ({how})" if how else "stops there without an end"
    return f"DIFFERENT IN LENGTH: the same {common} tokens, then {short} {ends} and {long} goes on to {other.tokens}"


def _why(found: Report, cause: Cause, left: Choice, right: Choice) -> str:
    match cause:
        case Cause.TIE:
            return f"a near-tie, not a defect (gap {gaps(left, right)}: noise is up to {found.tie:g})"
        case Cause.DEFECT:
            return f"a defect (gap {gaps(left, right)}, more than the {found.tie:g} of numeric noise)"
        case Cause.SETTINGS:
            return f"to be expected, {'; '.join(found.expected)}"
        case _:
            return "tie or defect not known, no gap tells"


def _median(figures: dict[str, Any], phase: str) -> str:
    return _figure(figures["ms"][phase]["median"]) if phase in figures["ms"] else "-"


def _position(figures: dict[str, Any], place: int) -> str:
    rates = figures["per_position"]["unconditional"]
    return f"{rates[place]:.2f}" if place < len(rates) else "-"


def _figure(value: Any) -> str:
    match value:
        case None:
            return "-"
        case float():
            return f"{value:.2f}" if value < 100 else f"{value:.1f}"
        case _:
            return str(value)
