"""A guided tour: n and p go from stop to stop, esc leaves it where it is."""

from typing import TYPE_CHECKING

from engine.records import RoundSource
from tui.features.feature import Feature, Host
from tui.lines import Line, Span, fit, spread, wrap
from tui.marks import Role
from tui.session import Session
from tui.whatif import WhatIf

if TYPE_CHECKING:
    from tui.tours import Stop

_LINES = 4
"""Lines of words that a caption has at most."""


class Touring(Feature):
    """Shows the stops of ``tui.tours``, and their captions above the status line, where they cover nothing."""

    name = "touring"

    def __init__(self, host: Host) -> None:
        super().__init__(host)
        self._stops: list[Stop] = []
        self._at = 0
        self._story = ""
        self._going = False

    def start(self, story: str = "") -> None:
        """Begin a tour; without a name the first, and from there the other."""
        from tui.tours import Story, stops  # noqa: PLC0415 (numpy: after the first paint)

        given = Story(story or ("faults" if self._stops and self._story == "fallback" else "fallback"))

        def begin(found: "list[Stop]") -> None:
            self._stops, self._story = found, given
            self._go(0)

        self.host.thread(lambda: stops(given), begin, lambda error: self.host.say(str(error)))

    def walks(self, count: int, /) -> bool:
        if not self._stops:
            return False
        if self._at + count >= len(self._stops):
            self._leave("the tour is over: {} and {} go from round to round again")
        elif not self._going:
            self._go(max(self._at + count, 0))
        return True

    def escaped(self) -> bool:
        if not self._stops:
            return False
        self._leave("the tour is left: {} and {} go from round to round")
        return True

    def caption(self, width: int, /) -> list[Line]:
        if not self._stops:
            return []
        stop, marks, session = self._stops[self._at], self.host.marks, self.host.session
        if session is None:
            return []
        title = (Span(f" {self._at + 1}/{len(self._stops)}  ", Role.KEY), Span(stop.title, Role.STRONG))
        on = "on" if self._at + 1 < len(self._stops) else "end"
        keys = (("round.next", on), ("round.previous", "back"), ("run.interrupt", "leave the tour"))
        hints = tuple(
            span for id_, word in keys for span in (Span(session.key(id_), Role.KEY), Span(f" {word}  ", Role.DIM))
        )
        words = wrap(stop.says, width - 2)
        if len(words) > _LINES:
            words = [*words[: _LINES - 1], (*words[_LINES - 1], Span(marks.ellipsis))]
        return [spread(title, hints, width, marks), *((Span(" "), *fit(line, width - 2, marks)) for line in words)]

    def _go(self, at: int) -> None:
        from engine.trace.reader import open_trace  # noqa: PLC0415

        stop, session = self._stops[at], self.host.session
        if session is not None and getattr(session.source, "path", None) == stop.trace:
            self._arrive(at)
            return
        self._going = True

        def shown(trace: RoundSource) -> None:
            self.host.show(trace)
            self._going = False
            if self._stops:
                self._arrive(at)

        def failed(error: Exception) -> None:
            self._going = False
            self._stops = []
            self.host.say(str(error))
            self.host.after()

        self.host.thread(lambda: open_trace(stop.trace), shown, failed)

    def _arrive(self, at: int) -> None:
        self._at = at
        stop, session = self._stops[at], self.host.session
        if session is None:
            return
        session.pause()
        session.series.take_in(len(session.source))
        session.jump(stop.at)
        session.whatif = self._asked(session, stop)
        self.host.look_at(stop.pane)
        self.host.after()

    def _asked(self, session: Session, stop: "Stop") -> WhatIf | None:
        if stop.asked is None:
            return None
        asked = WhatIf(session.source, session.series)
        asked.take(stop.asked)
        return asked

    def _leave(self, note: str) -> None:
        """Leave the tour, and say so with the keys for next and back."""
        self._stops = []
        session = self.host.session
        if session is not None:
            session.note = note.format(session.key("round.next"), session.key("round.previous"))
