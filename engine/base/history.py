"""The hidden states and taps of the positions that a base holds, in memory that grows with the text."""

from collections.abc import Mapping

import numpy as np

from engine.base.base import Floats

FIRST = 256


class History:
    """Rows by name, ``[positions, width]``; ``sizes`` are the widths."""

    def __init__(self, sizes: Mapping[str, int]) -> None:
        self._rows: dict[str, Floats] = {name: np.zeros((FIRST, width), np.float32) for name, width in sizes.items()}

    def put(self, start: int, rows: Mapping[str, Floats], count: int) -> None:
        """Keep ``count`` rows of each at the positions from ``start`` on."""
        for name, held in self._rows.items():
            if len(held) < start + count:
                self._rows[name] = np.zeros((max(2 * len(held), start + count), held.shape[1]), np.float32)
                self._rows[name][:start] = held[:start]
            self._rows[name][start : start + count] = rows[name]

    def at(self, start: int, stop: int) -> dict[str, Floats]:
        """Views of the rows of positions ``start`` to ``stop``."""
        return {name: kept[start:stop] for name, kept in self._rows.items()}
