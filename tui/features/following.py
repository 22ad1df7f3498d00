"""Following a run that somebody else makes: new rounds are shown as they come, and what became of the writer."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from textual.timer import Timer

from engine.errors import TraceError
from engine.records import RoundSource
from tui.features.feature import Feature, Host
from tui.live import LiveSource
from tui.session import Session
from tui.status import torn_of

if TYPE_CHECKING:
    from engine.process.watch import Change

_LOOK = 0.1
"""Seconds between two looks."""
_AT_ONCE = 1024
"""Rounds that are taken in at a time here; of a longer run the screen reads the rest by and by."""


@runtime_checkable
class Growing(Protocol):
    """A source that is looked at again and again. ``refresh`` tells how many rounds are new."""

    def refresh(self) -> "int | Change":
        """Raises ``TraceError``."""


class Following(Feature):
    """Paused, playing or following: while it follows, the cursor stays at the newest round."""

    name = "following"
    clock = staticmethod(time.monotonic)

    def __init__(self, host: Host) -> None:
        super().__init__(host)
        self._looking: Timer | None = None
        self._grew_at = 0.0

    def toggle(self) -> None:
        """Follow, or stop to."""
        session = self.host.session
        if session is None:
            return
        source = session.source
        path = getattr(source, "path", None)
        if session.following:
            session.following = False
        elif session.ended and source.end is None and isinstance(path, Path):
            self._open(path)
        elif session.ended:
            session.note = "nothing more comes: the run has ended"
        elif isinstance(source, LiveSource):
            session.note = "this run is made here: space runs it"
        else:
            self._follow(session)
        self.host.after()

    def opened(self, session: Session) -> None:
        self._stop()
        source = session.source
        if isinstance(source, Growing) and source.live:
            self._follow(session)
            self._looking = self.host.every(_LOOK, self._look)
        elif not source.live and source.end is None:
            missing, follows = torn_of(source) or "there is no end record", session.key("run.follow")
            session.note = f"{missing}, {len(source)} rounds were read; {follows} follows"

    def changed(self, session: Session) -> None:
        if session.following and (not session.at_end or session.playing):
            session.following = False

    def _follow(self, session: Session) -> None:
        session.following, session.playing = True, False
        self._grew_at = self.clock()
        session.series.take_in(_AT_ONCE)
        session.jump(session.last)

    def _open(self, path: Path) -> None:
        from engine.trace.reader import Trace  # noqa: PLC0415 (numpy: after the first paint)

        def job() -> RoundSource:
            return Trace(path, follow=True)

        self.host.thread(job, self.host.show, lambda error: self.host.say(str(error)))

    def _look(self) -> None:
        session = self.host.session
        if session is None or not isinstance(session.source, Growing):
            return
        source, before = session.source, len(session.source)
        try:
            change = source.refresh()
        except TraceError as error:
            self._stop()
            session.following = False
            self.host.say(str(error))
            return
        if not isinstance(change, int) and change.branch:
            self.host.show(source)
        elif len(source) != before or not source.live:
            self._take_in(session)
        elif self._away(session, source) or session.following:
            self._say_quiet(session)

    def _take_in(self, session: Session) -> None:
        self._grew_at = self.clock()
        session.quiet = 0
        following = session.following
        if len(session.source) - len(session.series) <= _AT_ONCE:
            session.arrived()
        if following:
            session.jump(session.last)
        if not session.source.live:
            self._stop()
            session.following = False
        self.host.grew(session)
        self.host.after()

    def _say_quiet(self, session: Session) -> None:
        """Nothing came: say so by whole seconds."""
        seconds = int(self.clock() - self._grew_at)
        if seconds != session.quiet:
            session.quiet = seconds
            self.host.after()

    def _away(self, session: Session, source: RoundSource) -> bool:
        """Whether what is watched is cut off for now, which is said."""
        connected = getattr(source, "connected", True)
        lost = f"{getattr(source, 'name', 'it')} is away: waiting for it to come back"
        if (session.note == lost) == connected:
            session.note = "" if connected else lost
            self.host.after()
        return not connected

    def _stop(self) -> None:
        if self._looking is not None:
            self._looking.stop()
            self._looking = None
