"""The bars and windows of a sweep."""

import math
from collections.abc import Iterable

WINDOWS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
_LOWEST = 1.5
"""A bar up to 1 never fires: a round emits at least one token."""


def bars_for(top: int, wanted: Iterable[float | None] = (), most: int = 10) -> tuple[float, ...]:
    """Up to ``most`` (two at least) bars evenly from 1.5 to ``top``, the most tokens that a round emitted, and those
    ``wanted``."""
    most = max(most, 2)
    step = max(0.5, math.ceil((top - _LOWEST) / (most - 1) * 2) / 2)
    even = [_LOWEST + step * i for i in range(most) if _LOWEST + step * i <= max(top, _LOWEST)]
    return tuple(sorted({*even, *(bar for bar in wanted if bar)}))


def windows_for(rounds: int, wanted: Iterable[int] = ()) -> tuple[int, ...]:
    """Windows that the recorded rounds can fill, and those ``wanted``."""
    return tuple(sorted({*(window for window in WINDOWS if window <= max(rounds, 1)), *wanted}))
