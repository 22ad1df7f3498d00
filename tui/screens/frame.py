"""The frame of the screen: panes, the lines around them, and the one method that paints it all."""

import gc

from rich.style import Style
from textual.app import ComposeResult
from textual.containers import Container
from textual.geometry import Size
from textual.screen import Screen

from engine.errors import TraceError
from tui import layout, status
from tui.keys import KEYS, Hint, Key, footer, waiting_footer
from tui.lines import Line, Span
from tui.marks import Marks, Role
from tui.panes.pane import Bar, Pane, Rows, View
from tui.session import Session
from tui.story import story
from tui.themes import styles
from tui.waiting import Waiting


class Frame(Screen[None]):
    """Panes side by side where the terminal is wide, one at a time where it is not or one is zoomed."""

    AUTO_FOCUS = None
    HORIZONTAL_BREAKPOINTS: list[tuple[int, str]] | None = [(0, "-one"), (100, "-two"), (140, "-wide")]  # noqa: RUF012 (declared so by Textual)
    VERTICAL_BREAKPOINTS: list[tuple[int, str]] | None = [(0, "-short"), (20, "-tall")]  # noqa: RUF012 (declared so by Textual)

    def __init__(self, marks: Marks, waiting: Waiting, keys: tuple[Key, ...] = KEYS) -> None:
        super().__init__(classes="-ascii" if marks.plain_text else "")
        self.marks = marks
        self.keys = keys
        self.active = layout.ROUND
        self.zoomed = False
        self.hints: tuple[Hint, ...] = ()
        self._waiting = waiting
        self.composed = False
        self._laid_out_for = Size(0, 0)

    def compose(self) -> ComposeResult:
        self._adapt()
        yield Bar("header")
        with Container(id="panes"):
            yield from layout.panes()
        yield Rows("caption")
        yield Bar("status")
        yield Rows("more")
        yield Bar("footer")

    def on_mount(self) -> None:
        """Paint before anything is laid out, so that the first picture in the terminal is a whole one."""
        self.composed = True
        self._laid_out_for = self.app.size
        self.repaint()
        # Off while the screen was loaded, where it was: see ``tui.commands.showing``.
        self.call_after_refresh(gc.enable)

    def on_resize(self) -> None:
        """The layout may be another one."""
        if self.app.size != self._laid_out_for:
            self._laid_out_for = self.app.size
            self.call_after_refresh(self.repaint)

    @property
    def styles_by_role(self) -> dict[Role, Style]:
        """How the roles are drawn in the current theme."""
        return styles(self.app.theme_variables)

    @property
    def alone(self) -> bool:
        """Whether only the active pane is shown, beside the timeline."""
        return self.zoomed or self.has_class("-one")

    def pane(self, number: int) -> Pane:
        """The pane of a number, from 1."""
        return self.query_one(f"#{layout.NAMES[number - 1].lower()}", Pane)

    def repaint(self) -> None:
        """Show the state; nothing else paints."""
        if self.composed:
            self.paint(None, "")

    @property
    def awaited(self) -> Waiting | None:
        """What is waited for, and shown as far as it is: the source."""
        return self._waiting

    def caption(self, _width: int, /) -> list[Line]:
        """Lines above the status line."""
        return []

    def paint(self, session: Session | None, busy: str) -> None:
        """Show a session, and what it waits for, if anything."""
        columns = self.app.size.width
        by_role = self.styles_by_role
        view = View(session, self.marks, by_role)
        waiting = self.awaited
        if waiting is None:
            focused = view
        else:
            focused = View(None, self.marks, by_role, lambda width: waiting.lines(self.marks, width))
        self.set_class(self.zoomed, "-zoomed")
        self.set_class(session is not None and bool(session.found.all), "-found")
        alone = self.alone
        for number in range(1, len(layout.NAMES) + 1):
            pane = self.pane(number)
            shown = number == self.active
            pane.set_class(shown, "-shown")
            pane.set_class(number > 1 and number != layout.ROUNDS and not alone and self._is_right(number), "-right")
            title = layout.tabs(self.active, columns - 2) if alone and shown else layout.title(number, self.active)
            pane.show(focused if shown else view, title, layout.note(number, session, self.marks) if session else "")
        long = self._long(session, busy, columns)
        self.query_one("#caption", Rows).show(self.caption(columns), by_role)
        self.query_one("#more", Rows).show(long[1:], by_role)
        self._bar("header", lambda width: self._header(session, width), by_role)
        self._bar("status", lambda width: long[0] if long else self._status(session, busy, width), by_role)
        playing = session is not None and (session.playing or session.owed > 0 or session.running != "")
        self._bar("footer", lambda width: self._footer(session, width, playing), by_role)

    def _adapt(self) -> None:
        """Take the classes of the terminal's size, as Textual does at a resize: before there is anything to restyle."""
        columns, lines = self.app.size
        for cells, points in ((columns, self.HORIZONTAL_BREAKPOINTS), (lines, self.VERTICAL_BREAKPOINTS)):
            fitting = [name for least, name in points or () if least <= cells]
            for _, name in points or ():
                self.set_class(name == fitting[-1], name)

    def _is_right(self, number: int) -> bool:
        return self.has_class("-wide") or number % 2 == 0

    def _bar(self, name: str, line: "layout.Liner", by_role: dict[Role, Style]) -> None:
        self.query_one(f"#{name}", Bar).show(line, by_role)

    def _header(self, session: Session | None, width: int) -> Line:
        if session is None:
            return (Span(" specstep", Role.STRONG), Span(f"  {self._waiting.title}", Role.DIM))
        return status.header(session, self.marks, width)

    def _long(self, session: Session | None, busy: str, width: int) -> list[Line]:
        """What the line of the status has no room for, where the terminal is high enough for more."""
        if session is None or self.awaited is not None or not self.has_class("-tall"):
            return []
        return status.whole(session, busy, self.marks, width, self.keys)

    def _status(self, session: Session | None, busy: str, width: int) -> Line:
        waiting = self.awaited
        if waiting is not None or session is None:
            return (waiting or self._waiting).line(self.marks)
        return status.pending(session, self.marks, width) or status.why(
            session, busy, self.marks, width, self._story(session), self.keys
        )

    def _footer(self, session: Session | None, width: int, playing: bool) -> Line:
        line: Line = ()
        if self.awaited is not None:
            self.hints = waiting_footer(self.awaited.can_end, self.keys)
        else:
            begun = session is not None and session.moment.index > 0
            breaks = session is not None and bool(session.breakpoints.enabled)
            self.hints = footer(width, playing=playing, begun=begun, breaks=breaks, keys=self.keys)
        for hint in self.hints:
            line += (Span(f" {hint.shown}", Role.KEY), Span(f" {hint.label} ", Role.DIM))
        return line

    def _story(self, session: Session) -> str:
        """What the Round pane would tell, while it is hidden."""
        try:
            round_ = session.current
        except TraceError:
            return ""
        if round_ is None or not self.alone or self.active == layout.ROUND:
            return ""
        return story(session.source, round_, session.moment.phase, self.marks)
