"""The figures of an imported summary, which has no rounds to count: those of its end record, as far as they are any."""

import math
from collections.abc import Mapping
from typing import Any

_COUNTS = ("rounds", "plain_rounds", "drafted", "verified", "accepted", "emitted", "batches", "steps")
_RATES = (
    *("draft_acceptance_rate", "evaluated_acceptance_rate", "draft_share"),
    *("tokens_per_round", "tokens_per_base_pass"),
)


def summary_of(stats: Mapping[str, Any]) -> dict[str, Any]:
    """What ``End.stats`` says of a run without rounds, under the names of ``Stats.as_map``.

    A count or a rate that is none is ``None``, and so is what is not said. Empty if it is the summary of no import.
    """
    if stats.get("detail") != "summary":
        return {}
    position = stats.get("per_position")
    row = position.get("unconditional") if isinstance(position, dict) else None
    rates = [_number(value) for value in row] if isinstance(row, list | tuple) else []
    ttft = _number(stats.get("ttft_ms"))
    return {
        **{name: _count(stats.get(name)) for name in _COUNTS},
        **{name: _number(stats.get(name)) for name in _RATES},
        **({} if ttft is None else {"ttft_ms": ttft}),
        "per_position": {
            "unconditional": () if None in rates else tuple(rates),
            "drafted_only": (),
            "conditional": (),
        },
        "detail": "summary",
    }


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _number(value: Any) -> float | None:
    known = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return value if known else None
