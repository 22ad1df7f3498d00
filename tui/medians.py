"""Medians of columns that grow, recomputed only when they have grown by a part worth the work."""

from array import array
from collections import defaultdict

from engine.stats import median

EXACT = 4096
"""Up to so many samples the median is always that of all; beyond, it may lag by an eighth of them."""


class Medians:
    """Samples under names, in single precision: there are several for each round."""

    def __init__(self) -> None:
        self._samples: dict[str, array[float]] = defaultdict(lambda: array("f"))
        self._known: dict[str, tuple[int, float]] = {}

    def add(self, name: str, value: float) -> None:
        """Take in a sample."""
        self._samples[name].append(value)

    def of(self, name: str) -> float | None:
        """The median under a name, ``None`` where there is no sample."""
        if name not in self._samples:
            return None
        return self._median(name, EXACT)

    def roughly(self, name: str, least: int) -> float | None:
        """The same, lagging however few there are; ``None`` where there are fewer than ``least`` samples."""
        return self._median(name, 0) if len(self._samples.get(name, ())) >= least else None

    def _median(self, name: str, exact: int) -> float:
        samples = self._samples[name]
        size, known = self._known.get(name, (0, 0.0))
        if size != len(samples) and (len(samples) <= exact or len(samples) >= size + size // 8):
            known = median(samples)
            self._known[name] = (len(samples), known)
        return known
