"""Takes in a long trace by and by, while the screen stays usable."""

import time

from textual.timer import Timer

from tui.features.feature import Feature, Host
from tui.session import Session

_BEAT = 1 / 40
"""Seconds between two looks."""
_READ_FOR = 0.012
"""Seconds of reading at a time."""
_STEP = 256
"""Rounds at a time."""


class Reading(Feature):
    """Reads at once what a moment is enough for, and the rest in the background."""

    name = "reading"

    def __init__(self, host: Host) -> None:
        super().__init__(host)
        self._beat: Timer | None = None

    def opened(self, session: Session) -> None:
        self._read(session)

    def _on_beat(self) -> None:
        if self.host.session is not None:
            self._read(self.host.session)
            self.host.repaint()

    def _read(self, session: Session) -> None:
        until = time.perf_counter() + _READ_FOR
        while session.series.take_in(_STEP) and time.perf_counter() < until:
            pass
        self.host.grew(session)
        if session.series.complete and self._beat is not None:
            self._beat.stop()
            self._beat = None
        elif not session.series.complete and self._beat is None:
            self._beat = self.host.every(_BEAT, self._on_beat)
