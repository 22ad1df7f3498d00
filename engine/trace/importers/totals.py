"""The figures of a request of which only totals are known, each recomputed and under its own name."""

from typing import Any

from engine.trace.importers.request import Totals


def as_map(totals: Totals) -> dict[str, Any]:
    """The keys of ``Stats.as_map`` that totals give; what they do not give is ``None``."""
    rounds, accepted = totals.rounds, totals.accepted
    return {
        "rounds": rounds,
        "plain_rounds": totals.plain_rounds,
        "drafted": totals.drafted,
        "accepted": accepted,
        "emitted": totals.emitted,
        "draft_acceptance_rate": _ratio(accepted, totals.drafted),
        "evaluated_acceptance_rate": _ratio(accepted, totals.judged),
        "draft_share": _ratio(accepted, totals.emitted),
        "tokens_per_round": None if accepted is None or not rounds else 1 + accepted / rounds,
        "per_position": {"unconditional": _by_position(totals.histogram)},
        "detail": "summary",
    }


def pooled(several: list[Totals]) -> Totals:
    """The sum over requests; a count that one of them lacks is unknown."""
    sums: dict[str, int | None] = {}
    for name in Totals._fields[:-1]:
        values = [getattr(totals, name) for totals in several]
        sums[name] = None if None in values else sum(values)
    bars = [totals.histogram for totals in several]
    width = max((len(bar) for bar in bars if bar is not None), default=0)
    dense = [(*bar, *(0,) * (width - len(bar))) for bar in bars if bar is not None]
    summed = tuple(map(sum, zip(*dense, strict=True))) if len(dense) == len(bars) else None
    return Totals(histogram=summed, **sums)


def _by_position(bars: tuple[int, ...] | None) -> list[float] | None:
    if not bars or not sum(bars):
        return None
    return [sum(bars[i:]) / sum(bars) for i in range(1, len(bars))]


def _ratio(part: int | None, whole: int | None) -> float | None:
    return part / whole if part is not None and whole else None
