"""Another bar and window over the run that is shown, moved by keys or typed, and made real in a fork."""

from engine.options import Options
from engine.whatif import Kind, Rule
from tui import layout
from tui.changes import Changes
from tui.features.feature import Feature
from tui.keys import ascii_of
from tui.lines import Line, Span, fit, flow
from tui.live import LiveSource
from tui.marks import Role
from tui.session import Session
from tui.whatif import FORMS, WhatIf

_CAN = [
    (("pane.up", "pane.down"), "bar"),
    (("whatif.narrow", "whatif.widen"), "window"),
    (("whatif",), "type"),
    (("whatif.auto",), "break-even"),
    (("whatif.sweep",), "sweep"),
]
"""What can be done in a what-if, by the ids of keys."""


class Asking(Feature):
    """The what-if of the Fallback pane."""

    name = "whatif"

    def open(self) -> None:
        """Begin; once begun, ask for a bar and a window."""
        session = self.host.session
        if session is None:
            return
        session.pause()
        if session.whatif is None:
            self._begin(session)
            self.host.after()
        else:
            self.host.ask("bar window", FORMS, f"{session.whatif.bar:g} {session.whatif.window}", self._typed)

    def auto(self) -> None:
        """The bar to the break-even."""
        asked = self._asked()
        if asked is not None and not asked.to_even():
            self.host.say("the break-even is not known yet")
        self.host.after()

    def widen(self, rounds: int) -> None:
        """The window wider or narrower, by as many rounds as the count says."""
        count = self.host.count() or 1
        asked = self._asked()
        if asked is not None:
            asked.move_window(rounds * count)
        self.host.after()

    def sweep(self) -> None:
        """Many bars and windows at once, to choose from."""
        asked = self._asked()
        if asked is not None:
            from tui.screens.sweep import SweepScreen  # noqa: PLC0415 (where it is asked for)

            self.host.push(SweepScreen(self.host.marks, asked, self._take))

    def scrolled(self, step: int, /) -> bool:
        session = self.host.session
        if session is None or session.whatif is None or self.host.active != layout.FALLBACK:
            return False
        session.whatif.move_bar(-step)
        return True

    def entered(self) -> bool:
        session = self.host.session
        asked = None if session is None else session.whatif
        if session is None or asked is None:
            return False
        if not isinstance(session.source, LiveSource):
            session.note = "a recording stays as it is: on a live run enter forks it with this bar"
            return True
        if session.ended and asked.answer.kind in (Kind.SAME, Kind.NEVER):
            session.note = "with this bar the run goes as it went: there is nothing to fork"
            return True
        rule = {"fallback_below": asked.bar, "fallback_window": asked.window}
        options = Options.from_map({**session.source.header.options, **rule})
        self.host.fork(asked.kept(session.settled), Changes(options, None))
        return True

    def escaped(self) -> bool:
        session = self.host.session
        if session is None or session.whatif is None:
            return False
        session.whatif = None
        return True

    def caption(self, width: int, /) -> list[Line]:
        session, marks = self.host.session, self.host.marks
        if session is None or session.whatif is None:
            return []
        can = [*_CAN, (("enter",), "fork")] if isinstance(session.source, LiveSource) else _CAN
        parts = []
        for ids, word in (*can, (("run.interrupt",), "leave")):
            keys = " ".join(map(session.key, ids))
            shown = ascii_of(keys) if marks.plain_text else keys
            parts.append((Span(shown, Role.KEY), Span(f" {word}", Role.DIM)))
        heads = (Span(" what if  ", Role.STRONG), Span(" " * 10))
        lines = zip(heads, flow(parts, width - 10), strict=False)
        return [fit((head, *line), width, marks) for head, line in lines]

    def _begin(self, session: Session) -> WhatIf:
        session.whatif = WhatIf(session.source, session.series)
        session.note = ""
        self.host.look_at(layout.FALLBACK)
        return session.whatif

    def _asked(self) -> WhatIf | None:
        """The what-if, begun by this if it was not."""
        session = self.host.session
        if session is None:
            return None
        return session.whatif or self._begin(session)

    def _typed(self, text: str) -> None:
        asked = self._asked()
        if asked is not None:
            asked.read(text)
            self.host.after()

    def _take(self, rule: Rule) -> None:
        asked = self._asked()
        if asked is not None:
            asked.take(rule)
        self.host.after()
