"""A map of many bars and windows: how fast each would be, and where each would flip."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType

from engine.whatif import Rule, flip_words, rounds_words, time_words
from tui.keys import Hint
from tui.lines import Line, Span, right, wrap
from tui.marks import Marks, Role
from tui.screens.listing import ListingScreen
from tui.whatif import WhatIf

if TYPE_CHECKING:
    from engine.whatif.replay import Grid

_LABEL, _CELL = 8, 8
"""Cells of the window's column, and of a bar's at least."""
_EPSILON = 1e-9


class SweepScreen(ListingScreen):
    """Windows down, bars across; the keys walk over the cells, and ``take`` gets the one that enter is pressed on.

    A cell has a bar as high as its estimate among all of them, and the estimate in tokens a second or the round of the
    flip. The recorded cell stands in brackets, the one that was asked for in angles.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h,p", "across(-1)", "left", show=False),
        Binding("right,l,n", "across(1)", "right", show=False),
        Binding("v,f", "flips", "flips", show=False),
    ]
    entering = "take it"

    def __init__(self, marks: Marks, asked: WhatIf, take: Callable[[Rule], None]) -> None:
        super().__init__(marks, "sweep: bars across, windows down")
        self.hints = (Hint("left right" if marks.plain_text else "← →", "bar"), Hint("v", "speed or flip"))
        self._asked, self._take = asked, take
        self._columns, self._made, self._flips = 0, asked.sweep(1), False
        self._cell_width = max(_CELL, len(str(self._made.flips.max())) + 4)
        self._here = Rule(asked.bar, asked.window)
        self.cursor = self._made.windows.index(asked.window)

    @property
    def here(self) -> Rule:
        """The bar and window of the cell at the cursor."""
        return self._here

    def rows(self) -> int:
        return len(self._made.windows)

    def heads(self, width: int, /) -> list[Line]:
        grid = self._grid(width)
        answer = self._asked.ask(*self._here)
        shown = self._shown(width)
        column = grid.bars.index(self._here.bar) - shown.start
        bars = "".join(right(f"{grid.bars[i]:.2f}", self._cell_width, self.marks) for i in shown)
        what = "round of the flip" if self._flips else "tokens/s"
        if not self._speeds(grid)[1]:
            what = "round of the flip, for there are not times enough to tell tokens/s"
        return [
            *wrap(f"bar {answer.bar:.2f} over {answer.window}: {flip_words(answer)}", width, Role.STRONG),
            *wrap(f"{rounds_words(answer)}, {time_words(answer)}", width),
            *wrap(f"{what}; [ ] recorded, < > asked for, * fastest, ? not known, - never", width, Role.DIM),
            (),
            (Span(f"{'window':>{_LABEL}}", Role.DIM), Span(bars, Role.DIM)),
            (
                Span(" " * (_LABEL + column * self._cell_width)),
                Span(right(self.marks.cursor, self._cell_width, self.marks), Role.KEY),
            ),
        ]

    def row(self, index: int, width: int) -> Line:
        grid = self._grid(width)
        label = Span(f"{grid.windows[index]:>{_LABEL}}", Role.STRONG)
        return (label, *(self._cell(grid, index, column) for column in self._shown(width)))

    def enter(self, index: int) -> None:
        self._take(Rule(self._here.bar, self._made.windows[index]))
        self.dismiss()

    def moved(self) -> None:
        self._here = Rule(self._here.bar, self._made.windows[self.cursor])

    def action_across(self, step: int) -> None:
        """To the next bar."""
        bars = self._made.bars
        column = max(0, min(bars.index(self._here.bar) + step, len(bars) - 1))
        self._here = Rule(bars[column], self._here.window)
        self.update()

    def action_flips(self) -> None:
        """Speeds in the cells, or the rounds of the flips."""
        self._flips = not self._flips
        self.update()

    def _grid(self, width: int) -> "Grid":
        columns = max(1, (width - _LABEL) // self._cell_width)
        if columns != self._columns:
            self._columns = columns
            self._made = self._asked.sweep(max(1, columns - 3))
            bars = self._made.bars
            self._here = Rule(min(bars, key=lambda bar: abs(bar - self._here.bar)), self._here.window)
        return self._made

    def _shown(self, width: int) -> range:
        """The bars that there is room for, the one at the cursor among them."""
        bars = self._grid(width).bars
        room = max(1, (width - _LABEL) // self._cell_width)
        first = max(0, bars.index(self._here.bar) - room + 1)
        return range(first, min(first + room, len(bars)))

    def _cell(self, grid: "Grid", row: int, column: int) -> Span:
        from engine.whatif.replay import NEVER, UNKNOWN  # noqa: PLC0415 (numpy)

        rule, flip = Rule(grid.bars[column], grid.windows[row]), int(grid.flips[row, column])
        speed = float(grid.tokens_per_second[row, column])
        ends = "[]" if rule == self._asked.rule else "<>" if rule == (self._asked.bar, self._asked.window) else "  "
        known = not math.isnan(speed)
        where = {NEVER: "-", UNKNOWN: "?"}.get(flip, str(flip))
        figure = where if self._flips or not known else f"{speed:.0f}"
        text = f"{self._height(grid, speed)}{figure}" if known else figure
        best = known and speed >= self._speeds(grid)[1] - _EPSILON
        trail = "*" if best and ends[1] == " " else ends[1]
        text = right(f"{ends[0]}{text}{trail}", self._cell_width, self.marks)
        return Span(text, self._role(rule, known, speed))

    def _role(self, rule: Rule, known: bool, speed: float) -> Role:
        recorded = self._asked.answer.recorded_tokens_per_second
        if rule == self._here:
            return Role.CURSOR
        if not known:
            return Role.DIM
        return Role.BELOW if recorded is not None and speed < recorded - _EPSILON else Role.DATA

    def _height(self, grid: "Grid", speed: float) -> str:
        low, high = self._speeds(grid)
        heights = self.marks.heights
        share = 1.0 if high <= low else (speed - low) / (high - low)
        return heights[min(int(share * len(heights)), len(heights) - 1)]

    def _speeds(self, grid: "Grid") -> tuple[float, float]:
        """The slowest and the fastest of the cells that are known."""
        known = [speed for speed in grid.tokens_per_second.flat if not math.isnan(speed)]
        return min(known, default=0.0), max(known, default=0.0)
