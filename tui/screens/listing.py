"""Lines with a cursor over the whole screen, which scroll: the base of lists and of views that are read row by row."""

from typing import ClassVar

from rich.style import Style
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.strip import Strip
from textual.widget import Widget

from tui.keys import Hint, footer_width
from tui.lines import Line, Span, fit, spread, wrap
from tui.marks import Marks, Role
from tui.panes.pane import on, strip
from tui.text import safe
from tui.themes import styles

_ROWS = 3
"""Rows that the lines above them leave room for, however low the terminal is."""


class ListingScreen(ModalScreen[None]):
    """A title, fixed lines under it, rows, a line of words, and the keys.

    A subclass says what the rows are: ``rows`` and ``row``, which is asked only for those that are seen; ``enter`` is
    what the enter key or a second click does. ``cursor`` is the row chosen, ``note`` the line of words, ``hints`` the
    keys beside those that every list has. Whoever changes what is shown calls ``update``.
    """

    DEFAULT_CSS = """
    ListingScreen { background: $background; }
    ListingScreen Listing { width: 100%; height: 100%; background: $background; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "up(1)", "up", show=False),
        Binding("down,j", "down(1)", "down", show=False),
        Binding("pageup", "page(-1)", "page up", show=False),
        Binding("pagedown", "page(1)", "page down", show=False),
        Binding("home", "first", "first", show=False),
        Binding("end", "last", "last", show=False),
        Binding("enter", "enter", "enter", show=False),
        Binding("escape,q", "leave", "close", show=False),
    ]
    hints: tuple[Hint, ...] = ()
    entering: str = "open"
    """What the enter key is said to do; empty where it does nothing."""

    def __init__(self, marks: Marks, heading: str) -> None:
        super().__init__()
        self.marks = marks
        self.note = ""
        self.cursor = 0
        self._heading = heading
        self._start = 0

    # What a subclass says.

    def rows(self) -> int:
        """How many rows there are."""
        return 0

    def row(self, index: int, width: int, /) -> Line:
        """A row in at most ``width`` cells; more is cut."""
        raise NotImplementedError

    def heads(self, _width: int, /) -> list[Line]:
        """Lines above the rows that do not scroll."""
        return []

    def empty(self) -> str:
        """A sentence in place of rows where there are none: why, and what to do."""
        return "There is nothing here."

    def enter(self, index: int) -> None:
        """A row was chosen with enter or a second click."""

    def moved(self) -> None:
        """The cursor stands at another row."""

    # What a subclass calls.

    def update(self) -> None:
        """Paint again; the cursor stays among the rows."""
        self.cursor = max(0, min(self.cursor, self.rows() - 1))
        for drawn in self.query(Listing):  # none once the screen is on its way out
            drawn.show()

    def go(self, index: int) -> None:
        """The cursor to a row, the nearest there is."""
        before, self.cursor = self.cursor, max(0, min(index, self.rows() - 1))
        self.note = ""
        if self.cursor != before:
            self.moved()
        self.update()

    # The rest.

    def compose(self) -> ComposeResult:
        yield Listing()

    def on_mount(self) -> None:
        self.app.theme_changed_signal.subscribe(self, lambda _: self.update())

    def action_up(self, step: int) -> None:
        self.go(self.cursor - step)

    def action_down(self, step: int) -> None:
        self.go(self.cursor + step)

    def action_page(self, step: int) -> None:
        self.go(self.cursor + step * max(1, self.query_one(Listing).size.height - 4))

    def action_first(self) -> None:
        self.go(0)

    def action_last(self) -> None:
        self.go(self.rows() - 1)

    def action_enter(self) -> None:
        if self.rows():
            self.enter(self.cursor)

    def action_leave(self) -> None:
        self.dismiss()

    def paint(self, width: int, height: int) -> list[tuple[Line, bool]]:
        """All lines, and whether each is the chosen row."""
        count, heads = self.rows(), self._heads(width, height)
        room = max(1, height - 2 - len(heads) - bool(self.note))
        self._start = max(0, min(self._start, self.cursor, count - room), self.cursor - room + 1)
        lines: list[tuple[Line, bool]] = [(self._top(width, count), False)]
        lines += [((Span(" "), *fit(line, width - 2, self.marks)), False) for line in heads]
        for index in range(self._start, min(self._start + room, count)):
            chosen = index == self.cursor
            sign = Span(self.marks.carried, Role.CURSOR) if chosen else Span(" ")
            lines.append(((sign, *fit(self.row(index, width - 2), width - 2, self.marks)), chosen))
        if not count:
            lines += [((Span(" "), *line), False) for line in wrap(self.empty(), width - 2, Role.DIM)]
        filled = height - 1 - bool(self.note)
        lines = lines[:filled] + [((), False)] * (filled - len(lines))
        if self.note:
            words = (Span(" "), Span(safe(self.note, self.marks), Role.STRONG))
            lines.append((fit(words, width, self.marks), False))
        return [*lines, (self._foot(width), False)]

    def row_at(self, y: int) -> int | None:
        """The row under a line of the screen."""
        size = self.query_one(Listing).size
        first = 1 + len(self._heads(size.width, size.height))
        index = self._start + y - first
        return index if first <= y < size.height - 1 - bool(self.note) and index < self.rows() else None

    def _heads(self, width: int, height: int) -> list[Line]:
        """As many of the lines above the rows as leave room for some rows: first the blank ones go, then the last."""
        heads = self.heads(width - 2)
        room = height - 2 - bool(self.note) - min(max(self.rows(), 1), _ROWS)
        if len(heads) > room:
            heads = [line for line in heads if line]
        return heads[: max(room, 0)]

    def _top(self, width: int, count: int) -> Line:
        start: Line = (Span(self.marks.axis, Role.RULE), Span(f" {safe(self._heading, self.marks)} ", Role.ACTIVE))
        place = f" {self.cursor + 1} of {count} " if count else ""
        start = fit(start, width - len(place) - 2, self.marks)
        line = spread(start, (Span(place, Role.DIM), Span(self.marks.axis, Role.RULE)), width, self.marks)
        return tuple(
            Span(self.marks.axis * len(text), Role.RULE) if text.isspace() else Span(text, role) for text, role in line
        )

    def _foot(self, width: int) -> Line:
        own = (Hint("enter", self.entering),) if self.entering and self.rows() else ()
        move = Hint("up down" if self.marks.plain_text else "↑ ↓", "move")
        hints: list[Hint] = [Hint("esc", "close")]
        for hint in (*own, *self.hints, move):
            if footer_width((*hints, hint)) <= width and len(hints) < 7:
                hints.insert(len(hints) - 1, hint)
        return tuple(
            span for hint in hints for span in (Span(f" {hint.shown}", Role.KEY), Span(f" {hint.label} ", Role.DIM))
        )


class Listing(Widget):
    """Draws a ``ListingScreen``, and tells it of the mouse."""

    ALLOW_SELECT = False

    def __init__(self) -> None:
        super().__init__()
        self._strips: list[Strip] = []

    @property
    def listing(self) -> ListingScreen:
        """The screen that this draws."""
        assert isinstance(self.screen, ListingScreen)
        return self.screen

    def show(self) -> None:
        """Draw what there is now."""
        self._strips = []
        self.refresh()

    def on_resize(self) -> None:
        """Another size, other lines."""
        self.show()

    def render_line(self, y: int) -> Strip:
        if len(self._strips) != self.size.height:
            self._strips = self._paint()
        return self._strips[y] if y < len(self._strips) else Strip.blank(self.size.width, self.rich_style)

    def on_click(self, event: events.Click) -> None:
        """Choose the row that is clicked; enter it at the second click."""
        listing = self.listing
        index = listing.row_at(event.y)
        if index is None:
            return
        if index == listing.cursor:
            listing.enter(index)
        else:
            listing.go(index)

    def on_mouse_scroll_down(self) -> None:
        self.listing.action_down(3)

    def on_mouse_scroll_up(self) -> None:
        self.listing.action_up(3)

    def _paint(self) -> list[Strip]:
        width, base = self.size.width, self.rich_style
        by_role = styles(self.app.theme_variables)
        over = on(base, by_role)
        chosen = {role: style + Style(bold=True) for role, style in over.items()}
        painted = self.listing.paint(width, self.size.height)
        return [strip(line, width, chosen if picked else over, base) for line, picked in painted]
