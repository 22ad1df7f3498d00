"""Another bar and window over what is shown: the state of the what-if, and its words. Pure."""

from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

from engine.errors import Refused
from engine.options import Options
from engine.records import RoundSource
from engine.stats import measured_plain_ms
from engine.whatif import Answer, Kind, Rule, bars_for, rule_of, windows_for
from tui.medians import EXACT
from tui.series import Series

if TYPE_CHECKING:
    from engine.whatif.replay import Grid, Replay

NOTCH = 0.1
"""Tokens a round by which a key moves the bar."""
FORMS = "A bar in tokens a round, auto for the break-even; then a window in rounds, as in 2.5 4 or auto 6."


class Swing(NamedTuple):
    """The lowest and the highest mean of some rounds."""

    low: float
    high: float


class WhatIf:
    """A bar and a window that are moved about, and what they would have done to the rounds taken in so far.

    ``rule`` is the recorded one. It starts from there, or from the break-even where no bar is set.
    """

    def __init__(self, source: RoundSource, series: Series) -> None:
        self._source, self._series = source, series
        self.rule = rule_of(source.header.options)
        self.bar = self.rule.bar or round(series.break_even or 2.0, 2)
        self.window = self.rule.window
        self._replay: Replay | None = None
        self._replayed = (0, False)

    @property
    def even(self) -> float | None:
        """The break-even of the rounds so far."""
        return self._series.break_even

    @property
    def answer(self) -> Answer:
        """What the bar and the window would have done."""
        return self.ask(self.bar, self.window)

    def ask(self, bar: float, window: int) -> Answer:
        """What any bar and window would have done."""
        return self._ready().ask(bar, window, self._k())

    def move_bar(self, notches: int) -> None:
        """Up or down, to whole notches."""
        steps = self.bar / NOTCH
        steps = round(steps) if abs(steps - round(steps)) < 1e-6 else int(steps) + (notches < 0)
        self.bar = max(0.0, round((steps + notches) * NOTCH, 1))

    def move_window(self, rounds: int) -> None:
        """Wider or narrower, down to one round."""
        self.window = max(1, self.window + rounds)

    def to_even(self) -> bool:
        """The bar to the break-even; whether that is known."""
        if self.even is not None:
            self.bar = self.even
        return self.even is not None

    def take(self, rule: Rule) -> None:
        """Another bar and window."""
        self.bar, self.window = rule

    def read(self, text: str) -> None:
        """What was typed, see ``FORMS``.

        Raises:
            Refused: it is not that, or no run can have it.
        """
        words = text.replace(",", " ").split()
        if not 1 <= len(words) <= 2:
            raise Refused(f"{text.strip()!r}: give a bar, or a bar and a window")
        try:
            bar = self.even if words[0] == "auto" else float(words[0])
            window = int(words[1]) if len(words) == 2 else self.window
        except ValueError as error:
            raise Refused(
                f"{text.strip()!r}: give a bar as a number or auto, and a window as a whole number"
            ) from error
        if bar is None:
            raise Refused("auto: the break-even is not known yet")
        Options(fallback_below=bar, fallback_window=window)
        self.bar, self.window = bar, window

    def over(self, start: int, stop: int) -> Swing | None:
        """The means over the what-if's window after the rounds ``start`` to ``stop``, as far as rounds were drafted."""
        index = self._series.observed.index
        first, last = bisect_left(index, start), bisect_left(index, stop)
        if first == last or not len(self._ready()):
            return None
        means = self._ready().means(self.window)[first:last]
        return Swing(float(means.min()), float(means.max())) if len(means) else None

    def mean(self, index: int) -> float | None:
        """The mean after a round; ``None`` for one that is not in the window."""
        swing = self.over(index, index + 1)
        return None if swing is None else swing.low

    def sweep(self, columns: int) -> "Grid":
        """Bars and windows around, the recorded ones, the break-even and the ones asked for among them."""
        bars = bars_for(self._series.top, (self.rule.bar, self.even, self.bar), columns)
        return self._ready().sweep(bars, windows_for(self._series.observed.known, (self.rule.window, self.window)))

    def kept(self, settled: int) -> int:
        """How many rounds a fork keeps to try this live: up to where the two runs part, or up to the cursor."""
        answer = self.answer
        match answer.kind:
            case Kind.FLIPS if answer.flip is not None:
                return answer.flip + 1
            case Kind.UNKNOWN if answer.recorded_flip is not None:
                return answer.recorded_flip + 1
            case _:
                return settled + 1

    def _ready(self) -> "Replay":
        """Made anew when the rounds have grown; in a long trace that is being read, only now and then."""
        from engine.whatif.replay import Replay  # noqa: PLC0415 (numpy)

        series, end = self._series, self._source.end
        key = (len(series), series.complete)
        due = len(series) <= EXACT or series.complete or len(series) >= self._replayed[0] * 9 // 8
        if self._replay is None or (key != self._replayed and due):
            measured = measured_plain_ms(self._source.prefill, end)
            self._replay = Replay(series.observed, series.stats.plain_ms(measured), end)
            self._replayed = key
        return self._replay

    def _k(self) -> int | None:
        k = self._source.header.options.get("k")
        return k if isinstance(k, int) and k > 0 else None
