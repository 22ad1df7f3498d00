"""The base's rows that a drafter keeps: copies, since the base overwrites its own."""

import numpy as np

from engine.base.base import Floats
from engine.errors import EngineFault


class RowStore:
    """``rows`` ``[capacity, width]``, one for each position; ``capacity`` is room for the first ones and grows."""

    def __init__(self, capacity: int, width: int, name: str) -> None:
        self.rows: Floats = np.zeros((capacity, width), np.float32)
        self._name = name

    def put(self, start: int, rows: Floats | None, count: int) -> None:
        """Keep ``count`` rows at positions from ``start`` on.

        Raises:
            EngineFault: the base gave none, or not as many, or rows of another width than the drafter reads.
        """
        wanted = (count, self.rows.shape[1])
        if rows is None or rows.shape != wanted:
            given = "none" if rows is None else f"shape {rows.shape}"
            raise EngineFault(f"the drafter reads {self._name} of shape {wanted} from the base, it was given {given}")
        if start + count > len(self.rows):
            more = np.zeros((max(2 * len(self.rows), start + count), self.rows.shape[1]), np.float32)
            more[:start] = self.rows[:start]
            self.rows = more
        self.rows[start : start + count] = rows
