"""Digits before a key: a count for it, or, alone, the number of a pane."""

from textual.timer import Timer

from tui import layout
from tui.keys import KEYS, Key
from tui.marks import Marks
from tui.screens.engine import EngineScreen
from tui.waiting import Waiting


class CountScreen(EngineScreen):
    """Keeps the pending count, and shows a pane at its first digit until that turns out to be one of a count."""

    DIGIT_WAITS = 1.0
    """Seconds that a single digit, which also shows a pane, is still a count."""

    def __init__(self, marks: Marks, waiting: Waiting, keys: tuple[Key, ...] = KEYS) -> None:
        super().__init__(marks, waiting, keys)
        self._active_before: int | None = None
        self._digit: Timer | None = None

    def action_digit(self, digit: str) -> None:
        session = self._session
        if session is None:
            return
        first = not session.count
        session.digit(digit)
        self._stop_digit()
        if first and 1 <= int(digit) <= len(layout.NAMES):
            self._active_before, self.active = self.active, int(digit)
            self._digit = self.set_timer(self.DIGIT_WAITS, self._digit_was_a_pane)
        elif not first and self._active_before is not None:
            self.active, self._active_before = self._active_before, None
        self.after()

    def count(self) -> int | None:
        """The pending count, which is used up by this. A pane that its first digit showed is left again."""
        session = self._session
        if session is None:
            return None
        if session.count and self._active_before is not None:
            self.active = self._active_before
        self.drop_digit()
        return session.take_count()

    def drop_digit(self) -> None:
        """No digit waits any more; the pane stays."""
        self._active_before = None
        self._stop_digit()

    def _digit_was_a_pane(self) -> None:
        if self._session is not None:
            self._session.take_count()
        self._active_before = None
        self.repaint()

    def _stop_digit(self) -> None:
        if self._digit is not None:
            self._digit.stop()
            self._digit = None
