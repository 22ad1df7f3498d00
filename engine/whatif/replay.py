"""Replays another bar and window over the rounds of a run, one at a time or over a whole grid of them."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from engine.options import Options
from engine.records import End
from engine.whatif.answer import Answer, Kind
from engine.whatif.observed import Observed

NEVER, UNKNOWN = -1, -2
"""Stand in a grid for the index of a flip."""


class Grid(NamedTuple):
    """A sweep: ``flips`` (the index of the round, or ``NEVER``, or ``UNKNOWN``) and ``tokens_per_second`` (NaN where it
    is not known), each of shape (windows, bars)."""

    bars: tuple[float, ...]
    windows: tuple[int, ...]
    flips: npt.NDArray[np.int64]
    tokens_per_second: npt.NDArray[np.float64]


class _Steps(NamedTuple):
    """Where the smallest sum of a window so far sinks: the sums, falling, and the entry at which each first stands."""

    sums: npt.NDArray[np.int64]
    at: npt.NDArray[np.int64]


class Replay:
    """Answers for the rounds that ``observed`` holds now; make another when it has grown.

    ``plain_ms`` is the cost of a plain step, without which no time is estimated. Behind an earlier flip the text is
    known, since plain decode gives the same tokens, and so are the rounds: one a token. Each asks of the rounds once,
    O(rounds) for a window that was not asked for yet, O(log rounds) for another bar.
    """

    def __init__(self, observed: Observed, plain_ms: float | None, end: End | None = None) -> None:
        self._index = np.array(observed.index, np.int64)
        self._counts = np.array(observed.counts, np.int64)
        self._rounds, self._tokens = observed.rounds, observed.tokens
        self._known, self._cut = observed.known, observed.edge is not None
        self._before = (observed.edge_rounds, observed.edge_tokens)
        self._flip = observed.flip
        if self._flip is None and end is not None and 0 < (end.fell_back_at or 0) <= len(self._index):
            self._flip = int(self._index[(end.fell_back_at or 0) - 1])
        self._sums = np.concatenate(([0], np.cumsum(self._counts)))
        self._ms = observed.ms if observed.rounds and not observed.untimed else None
        self._savings: npt.NDArray[np.float64] | None = None
        if self._ms is not None and plain_ms is not None:
            gains = np.array(observed.costs, np.float64) - plain_ms * self._counts
            # Entry i: what is saved when the entries from i on are made plain.
            self._savings = np.concatenate((np.cumsum(gains[::-1])[::-1], [0.0]))
        self._steps: dict[int, _Steps] = {}
        self._means: tuple[int, npt.NDArray[np.float64]] | None = None

    def ask(self, bar: float, window: int, k: int | None = None) -> Answer:
        """What another rule would have done; ``k`` bounds what a round that was not made could have emitted.

        Raises:
            Refused: there is no such bar or window.
        """
        check(bar, window)
        entry = int(self._fire(np.array([bar]), window)[0])
        saved, ms = self._saved(entry), None
        if saved is not None and self._ms is not None:
            ms = self._ms - saved
        fewest, most = self._bounds(entry, k)
        return Answer(
            bar=bar,
            window=window,
            kind=self._kind(entry),
            flip=None if entry < 0 else int(self._index[entry]),
            fell_back_at=None if entry < 0 else entry + 1,
            mean=None if entry < 0 else int(self._sums[entry + 1] - self._sums[entry + 1 - window]) / window,
            rounds=fewest if entry != UNKNOWN else None,
            fewest=fewest,
            most=most,
            recorded_flip=self._flip,
            recorded_rounds=self._rounds,
            saved_ms=saved,
            ms=ms,
            tokens_per_second=self._speed(ms),
            recorded_ms=self._ms,
            recorded_tokens_per_second=self._speed(self._ms),
        )

    def __len__(self) -> int:
        """In how many rounds the drafter was asked."""
        return len(self._index)

    def means(self, window: int) -> npt.NDArray[np.float64]:
        """The mean of tokens after each round in which the drafter was asked, over the last ``window`` of them."""
        if self._means is None or self._means[0] != window:
            ends = np.arange(1, len(self) + 1)
            starts = np.maximum(ends - min(window, len(self)), 0)
            self._means = window, (self._sums[ends] - self._sums[starts]) / (ends - starts)
        return self._means[1]

    def sweep(self, bars: Sequence[float], windows: Sequence[int]) -> Grid:
        """All of them at once; raises ``Refused`` as ``ask`` does."""
        for bar in bars:
            check(bar, 1)
        for window in windows:
            check(0.0, window)
        entries = np.array([self._fire(np.array(bars), window) for window in windows]).reshape(len(windows), len(bars))
        flips = np.where(entries >= 0, np.append(self._index, 0)[entries], entries)
        speeds = np.full(entries.shape, np.nan)
        if self._savings is not None and self._ms is not None:
            ms = self._ms - self._savings[np.where(entries >= 0, entries + 1, len(self._index))]
            np.divide(self._tokens * 1000, ms, out=speeds, where=(entries != UNKNOWN) & (ms > 0))
        return Grid(tuple(bars), tuple(windows), flips, speeds)

    def _fire(self, bars: npt.NDArray[np.float64], window: int) -> npt.NDArray[np.int64]:
        """For each bar the entry after which it switches off, ``NEVER`` or ``UNKNOWN``."""
        sums, at = self._sinking(window)
        with np.errstate(over="ignore"):
            first = np.searchsorted(-sums, -bars * window, side="right")
        none = UNKNOWN if self._cut else NEVER
        return np.append(at, none)[first]

    def _sinking(self, window: int) -> _Steps:
        if window > self._known:
            return _Steps(np.empty(0, np.int64), np.empty(0, np.int64))
        if window not in self._steps:
            sums = self._sums[window : self._known + 1] - self._sums[: self._known + 1 - window]
            lowest = np.minimum.accumulate(sums)
            at = np.flatnonzero(np.diff(lowest, prepend=lowest[:1] + 1))
            self._steps[window] = _Steps(lowest[at], at + window - 1)
        return self._steps[window]

    def _kind(self, entry: int) -> Kind:
        if entry >= 0:
            return Kind.SAME if self._index[entry] == self._flip else Kind.FLIPS
        return Kind.UNKNOWN if entry == UNKNOWN else Kind.NEVER

    def _bounds(self, entry: int, k: int | None) -> tuple[int, int]:
        """The fewest and the most rounds that the text can take."""
        if entry >= 0:
            tokens = int(self._sums[-1] - self._sums[entry + 1])
            rounds = self._rounds + tokens - (len(self._index) - entry - 1)
            return rounds, rounds
        if entry == NEVER:
            return self._rounds, self._rounds
        rounds, rest = self._before[0], self._tokens - self._before[1]
        return rounds + (-(-rest // (k + 1)) if k else min(rest, 1)), rounds + rest

    def _saved(self, entry: int) -> float | None:
        if entry == UNKNOWN or self._savings is None:
            return None
        return float(self._savings[entry + 1]) if entry >= 0 else 0.0

    def _speed(self, ms: float | None) -> float | None:
        return self._tokens / ms * 1000 if ms and ms > 0 else None


def check(bar: float, window: int) -> None:
    """Raises ``Refused`` for a bar or window that no run can have."""
    Options(fallback_below=bar, fallback_window=window)
