"""The keys that walk over the rounds, and the beat at which they go by themselves."""

from collections.abc import Callable

from textual.timer import Timer

from tui.keys import KEYS, Key
from tui.live import LiveSource
from tui.marks import Marks
from tui.screens.hosting import HostScreen
from tui.session import Session
from tui.waiting import Waiting

_LEAVES = 3.0
"""Seconds in which a second ctrl+c leaves."""


class WalkScreen(HostScreen):
    """Moves the cursor, by keys or by the beat."""

    def __init__(self, marks: Marks, waiting: Waiting, keys: tuple[Key, ...] = KEYS) -> None:
        super().__init__(marks, waiting, keys)
        self._beat: Timer | None = None
        self._leaving = False

    def action_forward(self) -> None:
        self._walk(1, lambda session, count: session.forward(count))

    def action_back(self) -> None:
        self._walk(-1, lambda session, count: session.back(count))

    def action_into(self) -> None:
        self.move(lambda session, count: _repeat(session.into, count))

    def action_out(self) -> None:
        self.move(lambda session, count: _repeat(session.out, count))

    def action_play(self) -> None:
        self.move(lambda session, _: session.play())

    def action_faster(self, step: int) -> None:
        self.move(lambda session, count: session.faster(step * count))
        if self._beat is not None:
            self._stop_beat()
            self.after()

    def action_interrupt(self) -> None:
        session = self._session
        if session is None:
            self.action_quit()
            return
        if self.gave_up_fork():
            return
        if not session.count and any(feature.escaped() for feature in self.features.values()):
            self.after()
            return
        self.drop_digit()
        session.interrupt()
        if isinstance(session.source, LiveSource):
            session.source.interrupt()
        self.after()

    def action_leave(self) -> None:
        """Stop what runs, and leave when this comes a second time."""
        session = self._session
        if session is None or self._leaving:
            self.action_quit()
            return
        self.gave_up_fork()
        self._leaving = True
        self.set_timer(_LEAVES, self._stay)
        busy = session.playing or session.owed
        session.interrupt()
        if isinstance(session.source, LiveSource):
            session.source.interrupt()
        again = f"ctrl+c again leaves, and so does {session.key('quit')}"
        self.say(f"interrupted; {again}" if busy else again)

    def _stay(self) -> None:
        self._leaving = False

    def after(self) -> None:
        super().after()
        session = self._session
        if session is not None and session.playing and self._beat is None:
            self._beat = self.set_interval(1 / session.speed, self._on_beat)
        elif session is not None and not session.playing:
            self._stop_beat()

    def _walk(self, direction: int, change: Callable[[Session, int], object]) -> None:
        if self._session is not None:
            count = int(self._session.count or 1) * direction
            if any(feature.walks(count) for feature in self.features.values()):
                self.count()
                self.after()
                return
        self.move(change)

    def _on_beat(self) -> None:
        if self._session is not None:
            self._session.tick()
            self.after()

    def _stop_beat(self) -> None:
        if self._beat is not None:
            self._beat.stop()
            self._beat = None


def _repeat(act: Callable[[], object], count: int) -> None:
    for _ in range(count):
        act()
