"""The candidates of the round at the cursor over the whole screen; n and p go on to others."""

import time
from collections.abc import Callable
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.timer import Timer

from engine.errors import TraceError
from engine.ranks import Recall
from tui import candidates
from tui.keys import Hint
from tui.lines import Line
from tui.marks import Marks
from tui.screens.listing import Listing, ListingScreen
from tui.session import Session

_READ_FOR = 0.008
_READ_STEP = 32


class CandidatesScreen(ListingScreen):
    """The whole run is read for the summary bit by bit, as long as this is open."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n,right", "walk(1)", "next round", show=False),
        Binding("p,left", "walk(-1)", "previous round", show=False),
    ]
    hints = (Hint("n p", "round"),)
    entering = ""

    def __init__(self, marks: Marks, session: Session, walk: Callable[[int], object]) -> None:
        super().__init__(marks, _title(session))
        self._session, self._walk = session, walk
        self._recall, self._read, self._broken = Recall(), 0, ""
        self._reading: Timer | None = None
        self._lines: tuple[tuple[int, int], list[Line]] = ((-1, 0), [])

    def on_mount(self) -> None:
        """Begin to read."""
        self._reading = self.set_interval(1 / 30, self._read_on)

    def rows(self) -> int:
        return len(self._painted(self.query_one(Listing).size.width - 2))

    def row(self, index: int, width: int) -> Line:
        return self._painted(width)[index]

    def heads(self, width: int) -> list[Line]:
        if self._broken:
            self.note = self._broken
        told = candidates.summary(self._recall, self._read, len(self._session.source), width)
        return [*told, ()] if told else []

    def empty(self) -> str:
        return candidates.NONE

    def action_walk(self, step: int) -> None:
        self._walk(step)
        self.cursor = 0
        self._heading = _title(self._session)
        self.update()

    def _painted(self, width: int) -> list[Line]:
        index = self._session.moment.index
        if self._lines[0] != (index, width):
            self._lines = ((index, width), self._paint_round(width))
        return self._lines[1]

    def _paint_round(self, width: int) -> list[Line]:
        try:
            round_ = self._session.current
        except TraceError as error:
            self._broken = str(error)
            return []
        return [] if round_ is None else candidates.lines_of(self._session, round_, self.marks, width)

    def _read_on(self) -> None:
        until, source = time.perf_counter() + _READ_FOR, self._session.source
        try:
            while self._read < len(source) and time.perf_counter() < until:
                for index in range(self._read, min(self._read + _READ_STEP, len(source))):
                    self._recall.add(source.round(index))
                    self._read += 1
        except TraceError as error:
            self._broken = f"read up to here only: {error}"
        if self._reading is not None and (self._broken or self._read >= len(source)):
            self._reading.stop()
        self.update()


def _title(session: Session) -> str:
    return f"candidates of round {session.moment.index}"
