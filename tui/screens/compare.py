"""Two runs side by side: the verdict, their differences to walk over with both rounds at each, and what they cost."""

from collections.abc import Callable
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.timer import Timer

from engine.compare.words import rows
from tui.comparing import Comparing
from tui.keys import Hint
from tui.lines import Line, Span, fit, left, right, wrap
from tui.marks import Marks, Role
from tui.panes.sides import beside, told
from tui.screens.listing import ListingScreen
from tui.text import safe

_BEAT = 1 / 30
_SLICE = 256
"""Rounds that are read at each beat."""


class CompareScreen(ListingScreen):
    """Lists differences, or with ``c`` the figures of both; ``go`` gets the round of A that enter is pressed on."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "down(1)", "next", show=False),
        Binding("p", "up(1)", "previous", show=False),
        Binding("c", "costs", "costs", show=False),
    ]
    entering = "go there in A"

    def __init__(self, marks: Marks, comparing: Comparing, go: Callable[[int], None]) -> None:
        super().__init__(marks, f"compare: A {comparing.names[0]}, B {comparing.names[1]}")
        self._comparing, self._go = comparing, go
        self._costs = False
        self._walked = False
        self._reading: Timer | None = None

    def on_mount(self) -> None:
        super().on_mount()
        self._read()
        if not self._comparing.done:
            self._reading = self.set_interval(_BEAT, self._read)

    @property
    def hints(self) -> tuple[Hint, ...]:  # type: ignore[override]
        """The keys beside those of every list."""
        return (Hint("n p", "difference"), Hint("c", "differences" if self._costs else "costs"))

    def rows(self) -> int:
        return len(self._table()) if self._costs else len(self._comparing)

    def row(self, index: int, width: int) -> Line:
        if self._costs:
            name, a, b = self._table()[index]
            cell = _cell(width)
            return fit(
                (
                    Span(left(name, 24, self.marks), Role.DIM),
                    Span(right(a, cell, self.marks)),
                    Span(right(b, cell, self.marks)),
                ),
                width,
                self.marks,
            )
        return told(self._comparing, self._comparing.difference(index), self.marks, width)

    def heads(self, width: int, /) -> list[Line]:
        comparing, marks = self._comparing, self.marks
        lines = wrap(safe(comparing.verdict(), marks), width, Role.STRONG)
        found = comparing.report
        if found is not None:
            for doubt in (*found.doubts, *(found.expected if found.first is None else ())):
                lines += wrap(safe(doubt, marks), width, Role.WARNING)
        if self._costs:
            cell = _cell(width)
            names = (
                f" {right(f'{label} {safe(name, marks)}', cell - 1, marks)}"
                for label, name in zip("AB", comparing.names, strict=True)
            )
            return [*lines, (Span(" " * 24), *(Span(name, Role.STRONG) for name in names))]
        if len(comparing):
            difference = comparing.difference(min(self.cursor, len(comparing) - 1))
            lines += [(), *beside(comparing, difference, marks, width), ()]
        return lines

    def empty(self) -> str:
        if self._comparing.broken or not self._comparing.done:
            return "No difference met so far."
        return "The text is the same, and so is every draft that was made after the same text. c shows what both cost."

    def enter(self, index: int) -> None:
        if self._costs:
            return
        where = self._comparing.difference(index).left
        if where is not None:
            self._go(where)
            self.dismiss()

    def moved(self) -> None:
        self._walked = True

    def action_costs(self) -> None:
        """The figures of both, or the differences."""
        self._costs = not self._costs
        self.entering = "" if self._costs else CompareScreen.entering
        self.cursor = 0 if self._costs else self._comparing.first
        self.update()

    def _read(self) -> None:
        comparing = self._comparing
        comparing.go_on(_SLICE)
        if not self._walked and not self._costs:
            self.cursor = comparing.first
        if comparing.done and self._reading is not None:
            self._reading.stop()
        self.update()

    def _table(self) -> list[tuple[str, str, str]]:
        """The figures, then what was set otherwise."""
        found = self._comparing.report
        if found is None:
            return []
        figures = [(row.name, row.left, row.right) for row in rows(found)]
        options = [(name, str(a), str(b)) for name, (a, b) in found.settings.items()]
        return [
            (safe(name, self.marks), safe(a, self.marks), safe(b, self.marks)) for name, a, b in (*figures, *options)
        ]


def _cell(width: int) -> int:
    """The cells of a side's figures."""
    return max(12, min(30, (width - 24) // 2))
