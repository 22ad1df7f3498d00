"""The bar and window that a run was made with, read from options that anybody may have written."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from engine.options import Options


class Rule(NamedTuple):
    """A bar in tokens a round, 0 where there is none, over a window of so many recorded rounds."""

    bar: float
    window: int


def rule_of(options: Mapping[str, Any]) -> Rule:
    """The rule in a header's options; what is missing or no number is the default."""
    bar, window = options.get("fallback_below"), options.get("fallback_window")
    sound = isinstance(bar, int | float) and math.isfinite(bar) and bar > 0
    whole = isinstance(window, int) and window > 0
    return Rule(float(bar) if sound else 0.0, window if whole else Options().fallback_window)  # type: ignore[arg-type]
