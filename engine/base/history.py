"""The hidden states and taps of the positions that a base holds, in memory that grows with the text."""

from collections.abc import Mapping

import numpy as np

from engine.base.base import Floats, Rows

FIRST = 256


class History:
    """Rows ``[positions, width]``; ``sizes`` are the widths of "hidden" and "taps", where a base gives them."""

    def __init__(self, sizes: Mapping[str, int]) -> None:
        self._room = FIRST
        self._hidden, self._taps = (
            np.zeros((FIRST, sizes[name]), np.float32) if name in sizes else None for name in ("hidden", "taps")
        )

    def put(self, start: int, stop: int, rows: Rows) -> None:
        """Keep the rows of positions ``start`` to ``stop``."""
        if stop > self._room:
            self._grow(start, stop)
        if self._hidden is not None:
            self._hidden[start:stop] = rows.hidden
        if self._taps is not None:
            self._taps[start:stop] = rows.taps

    def at(self, logits: Floats, start: int, stop: int) -> Rows:
        """The rows of positions ``start`` to ``stop``, as views, with the ``logits`` given."""
        return Rows(
            logits,
            None if self._hidden is None else self._hidden[start:stop],
            None if self._taps is None else self._taps[start:stop],
        )

    def _grow(self, held: int, wanted: int) -> None:
        self._room = max(2 * self._room, wanted)
        self._hidden, self._taps = (
            None if rows is None else _with_room(rows[:held], self._room) for rows in (self._hidden, self._taps)
        )


def _with_room(rows: Floats, room: int) -> Floats:
    """The same rows at the beginning of more."""
    more = np.zeros((room, rows.shape[1]), np.float32)
    more[: len(rows)] = rows
    return more
