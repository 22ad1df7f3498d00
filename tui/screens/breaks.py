"""The list of breakpoints: what each stops at, how often it was hit, and the keys that change it."""

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType

from engine.conditions import Stop
from tui.breakpoints import Breakpoint
from tui.keys import Hint
from tui.lines import Line, Span, left, right
from tui.marks import Marks, Role
from tui.screens.condition import ConditionPrompt
from tui.screens.listing import ListingScreen
from tui.session import Session
from tui.text import safe

if TYPE_CHECKING:
    from tui.features.breaks import Breaks

_LOOK = 0.1
"""Seconds between two looks at how many hits there are."""


class BreaksScreen(ListingScreen):
    """A row a breakpoint. Enter goes to its next hit behind the cursor's round, or to its first."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "switch", "on or off", show=False),
        Binding("d,delete", "delete", "delete", show=False),
        Binding("e", "edit", "edit", show=False),
        Binding("b,a", "add", "new", show=False),
    ]
    hints = (Hint("space", "on/off"), Hint("e", "edit"), Hint("d", "delete"), Hint("b", "new"))
    entering = "next hit"

    def __init__(self, marks: Marks, feature: "Breaks", session: Session) -> None:
        super().__init__(marks, "breakpoints")
        self._feature, self._session = feature, session
        self._told = -1

    def on_mount(self) -> None:
        """Look at the hits from time to time, beside what every list does."""
        self.set_interval(_LOOK, self._look)

    def rows(self) -> int:
        return len(self._feature.breakpoints.all)

    def heads(self, _width: int, /) -> list[Line]:
        return [(Span(f"{right('hits', 16, self.marks)}  stops where", Role.DIM),)]

    def row(self, index: int, _width: int, /) -> Line:
        each = self._feature.breakpoints.all[index]
        more = "" if each.complete else "+"
        state = f"  {each.broken}" if each.broken else "" if each.enabled else "  off"
        role = Role.TEXT if each.enabled else Role.DIM
        return (
            Span(f" {self.marks.stop if each.enabled else ' '} ", Role.KEY),
            Span(left(str(each.number), 4, self.marks), role),
            Span(right(f"{each.hits}{more}", 9, self.marks), Role.STRONG if each.hits else Role.DIM),
            Span(f"  {safe(each.stop.text, self.marks)}", role),
            Span(safe(state, self.marks), Role.DIM),
        )

    def empty(self) -> str:
        return "No breakpoint yet. b sets one: at a round, or at a condition as in take == 0 and gap < 0.1."

    def enter(self, index: int) -> None:
        each = self._feature.breakpoints.all[index]
        hit = each.after(self._session.moment.index, counted=False) or each.after(-1, counted=False)
        if hit is None:
            self.note = "it was not hit" if each.complete else "it was not hit so far"
            self.update()
            return
        self._feature.go(hit)
        self.dismiss()

    def action_switch(self) -> None:
        each = self._chosen()
        if each is not None:
            each.enabled = not each.enabled
            self._changed()

    def action_delete(self) -> None:
        each = self._chosen()
        if each is not None:
            self._feature.remove(each)
            self._changed()

    def action_edit(self) -> None:
        each = self._chosen()
        if each is None:
            return

        def answer(text: str) -> None:
            each.change(Stop(text))
            self._changed()

        hint = "Stop where this holds. After it may stand hit 3 or every 10."
        self.app.push_screen(ConditionPrompt("break", hint, each.stop.text, answer))

    def action_add(self) -> None:
        def answer(text: str) -> None:
            self._feature.add(text)
            self._changed()
            self.go(self.rows() - 1)

        self.app.push_screen(
            ConditionPrompt("break", "Stop where this holds. After it may stand hit 3 or every 10.", "", answer)
        )

    def _chosen(self) -> Breakpoint | None:
        every = self._feature.breakpoints.all
        return every[self.cursor] if self.cursor < len(every) else None

    def _changed(self) -> None:
        self._feature.touched()
        self.update()

    def _look(self) -> None:
        told = sum(each.seen for each in self._feature.breakpoints.all)
        if told != self._told:
            self._told = told
            self.update()
