"""The widgets: a pane with a title line, and a single line. They draw what they are given and own nothing."""

from collections.abc import Callable
from typing import NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from engine.errors import TraceError
from tui.lines import Line, Span, fit, width_of, wrap
from tui.marks import Marks, Role
from tui.session import Session
from tui.text import safe

Painter = Callable[[Session, Marks, int, int], list[Line]]


class View(NamedTuple):
    """What is painted from: the session (``None`` while the source is being opened), the signs, the styles.

    ``waiting`` makes the lines of the focused pane meanwhile.
    """

    session: Session | None
    marks: Marks
    styles: dict[Role, Style]
    waiting: Callable[[int], list[Line]] | None = None


class Pane(Widget):
    """A numbered pane; ``from_end`` shows the last lines where there are too many, others the first."""

    ALLOW_SELECT = False

    class Clicked(Message):
        """The pane was clicked at a cell of its content."""

        def __init__(self, pane: "Pane", x: int, y: int) -> None:
            super().__init__()
            self.pane, self.x, self.y = pane, x, y

    class Wheel(Message):
        """The wheel was turned over the pane."""

        def __init__(self, pane: "Pane", step: int) -> None:
            super().__init__()
            self.pane, self.step = pane, step

    def __init__(self, name: str, painter: Painter, *, from_end: bool = False) -> None:
        super().__init__(id=name, classes="pane")
        self._title: Line = ()
        self._note = ""
        self._painter = painter
        self._from_end = from_end
        self._view: View | None = None
        self._offset = 0
        self._strips: list[Strip] = []
        self._painted: tuple[int, int] | None = None

    def show(self, view: View, title: Line, note: str = "") -> None:
        """Paint this from now on, under a line with ``title`` at its left and ``note`` at its right."""
        self._view, self._title, self._note = view, title, note
        self._painted = None
        self.refresh()

    def scroll_lines(self, step: int) -> None:
        """Move the content by so many lines, as far as there are any."""
        self._offset = max(0, self._offset + (-step if self._from_end else step))
        self._painted = None
        self.refresh()

    def reset_scroll(self) -> None:
        """Back to where the pane starts."""
        self._offset = 0

    def render_line(self, y: int) -> Strip:
        size = (self.size.width, self.size.height)
        if self._painted != size:
            self._strips = self._paint(*size)
            self._painted = size
        return self._strips[y] if y < len(self._strips) else Strip.blank(size[0], self.rich_style)

    def on_click(self, event: events.Click) -> None:
        """Report the click, in cells of the content."""
        self.post_message(self.Clicked(self, event.x - 1, event.y - 1))

    def on_mouse_scroll_down(self) -> None:
        """Report the wheel."""
        self.post_message(self.Wheel(self, 3))

    def on_mouse_scroll_up(self) -> None:
        """Report the wheel."""
        self.post_message(self.Wheel(self, -3))

    def _paint(self, width: int, height: int) -> list[Strip]:
        if self._view is None or width < 4 or height < 1:
            return []
        view, room = self._view, width - 2
        body: list[Line]
        if view.session is None:
            body = [] if view.waiting is None else view.waiting(room)
        else:
            body = self._body(view.session, view.marks, room, height - 1)
        window, above, below = self._window(body, height - 1)
        lines = [self._top(width, above, below, view.marks)]
        lines += [(Span(" "), *fit(line, room, view.marks)) for line in window]
        base = self.rich_style
        over = on(base, view.styles)
        return [strip(line, width, over, base) for line in lines]

    def _body(self, session: Session, marks: Marks, width: int, height: int) -> list[Line]:
        try:
            return self._painter(session, marks, width, height)
        except TraceError as error:
            return wrap(f"{marks.finding} {safe(str(error), marks)}", width, Role.WARNING)

    def _window(self, body: list[Line], height: int) -> tuple[list[Line], int, int]:
        spare = max(0, len(body) - height)
        self._offset = min(self._offset, spare)
        start = spare - self._offset if self._from_end else self._offset
        return body[start : start + height], start, max(0, len(body) - start - height)

    def _top(self, width: int, above: int, below: int, marks: Marks) -> Line:
        start: Line = (Span(marks.axis, Role.RULE), *self._title)
        more = f"{marks.down} {below} more" if below and not self._from_end else ""
        more = more or (f"{marks.up} {above} above" if above and not self._from_end else "")
        for text, role in ((more, Role.TIE), (self._note, Role.DIM)):
            gap = width - width_of(start) - len(text) - 3
            if text and gap > 0:
                return (*start, Span(marks.axis * gap, Role.RULE), Span(f" {text} ", role), Span(marks.axis, Role.RULE))
        return (*fit(start, width, marks), Span(marks.axis * (width - width_of(start)), Role.RULE))


class Bar(Widget):
    """One line of the screen."""

    ALLOW_SELECT = False

    class Clicked(Message):
        """The line was clicked at a cell."""

        def __init__(self, bar: "Bar", x: int) -> None:
            super().__init__()
            self.bar, self.x = bar, x

    def __init__(self, name: str) -> None:
        super().__init__(id=name)
        self._line: Callable[[int], Line] | None = None
        self._styles: dict[Role, Style] = {}

    def show(self, line: Callable[[int], Line], styles: dict[Role, Style]) -> None:
        """Draw the line that ``line`` makes for a width."""
        self._line, self._styles = line, styles
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        """Report the click."""
        self.post_message(self.Clicked(self, event.x))

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        if y or self._line is None:
            return Strip.blank(width, self.rich_style)
        base = self.rich_style
        return strip(self._line(width), width, on(base, self._styles), base)


class Rows(Widget):
    """As many lines as it is given; without any it is not there."""

    ALLOW_SELECT = False

    def __init__(self, name: str) -> None:
        super().__init__(id=name)
        self.display = False
        self._lines: list[Line] = []
        self._by_role: dict[Role, Style] = {}

    def show(self, lines: list[Line], styles: dict[Role, Style]) -> None:
        """Draw these lines from now on."""
        if len(lines) != len(self._lines):
            self.styles.height = len(lines)
            self.display = bool(lines)
        self._lines, self._by_role = lines, styles
        self.refresh()

    def render_line(self, y: int) -> Strip:
        base = self.rich_style
        line = self._lines[y] if y < len(self._lines) else ()
        return strip(line, self.size.width, on(base, self._by_role), base)


def on(base: Style, styles: dict[Role, Style]) -> dict[Role, Style]:
    """The styles of the roles over a widget's own."""
    return {role: base + style for role, style in styles.items()}


def strip(line: Line, width: int, styles: dict[Role, Style], base: Style) -> Strip:
    """A line as a strip of exactly ``width`` cells; ``styles`` hold ``base`` already."""
    return Strip([Segment(_seen(text), styles[role]) for text, role in line]).adjust_cell_length(width, base)


def _seen(text: str) -> str:
    """The last look at what goes to the terminal, should anybody have forgotten ``tui.text``."""
    return text if text.isprintable() else "".join(each if each.isprintable() else "?" for each in text)
