"""What the screen does with an engine beside having it make rounds: forks, new starts, and runs that others make."""

from collections.abc import Callable

from textual import work
from textual.message import Message
from textual.timer import Timer

from engine.errors import SpecstepError, TraceError
from engine.process.watch import Watched
from engine.records import RoundSource
from tui import changes
from tui.keys import KEYS, Key
from tui.live import LiveSource
from tui.marks import Marks
from tui.screens.frame import Frame
from tui.screens.prompt import PromptScreen
from tui.session import Session

_LOOK = 0.1
"""Seconds between two looks at a run that somebody else makes."""


class EngineScreen(Frame):
    """Holds the session, and replaces it where the run goes on in another branch."""

    class Forked(Message):
        """Another branch goes on, or cannot."""

        def __init__(self, source: LiveSource | None, error: SpecstepError | None = None) -> None:
            super().__init__()
            self.source, self.error = source, error

    def __init__(self, marks: Marks, waiting: str, keys: tuple[Key, ...] = KEYS) -> None:
        super().__init__(marks, waiting, keys)
        self._session: Session | None = None
        self._making = False
        self._looking: Timer | None = None

    def begin(self, source: RoundSource) -> Session:
        """Show a source from here on; one that somebody else's engine grows, at its end."""
        session = self._session = Session(source)
        if isinstance(source, Watched):
            _to_end(session)
            if self._looking is None:
                self._looking = self.set_interval(_LOOK, self._look)
        return session

    def after(self) -> None:
        """What follows every change of the session."""

    def grew(self, session: Session) -> None:
        """What follows when rounds have come."""

    def ask(self, label: str, hint: str, value: str, answer: Callable[[str], None]) -> None:
        """Ask for a line of text in a prompt."""
        self.app.push_screen(PromptScreen(label, hint, value, answer))

    def action_restart(self) -> None:
        """Start a lost engine again behind the last good round; one that does not answer is ended by this first."""
        session = self._session
        source = None if session is None else session.source
        if session is None or not isinstance(source, LiveSource) or source.engine is None:
            self._forkable()
        elif source.engine.lost is not None and not self._making:
            self._start_fork(source, len(source), changes.Changes(None, None))
        elif self._making:
            source.engine.kill()
        else:
            session.note = "the engine is there: o goes on by other options"
            self.after()

    def action_options(self) -> None:
        """Ask for other options, and go on by them from the cursor on."""
        source, session = self._forkable(), self._session
        if source is None or session is None:
            return
        at = session.settled + 1
        hint = f"Fork after {at} rounds, as in k=5 drafter=lookup; also {', '.join(changes.NAMES)}. Escape leaves it."

        def answer(text: str) -> None:
            self._start_fork(source, at, changes.read(text, source.header.options))

        self.ask("options", hint, "", answer)

    def fork(self, at: int, wanted: changes.Changes) -> None:
        """Go on by other options behind the first ``at`` rounds, or say why that cannot be done."""
        source = self._forkable()
        if source is not None:
            self._start_fork(source, at, wanted)

    def on_engine_screen_forked(self, message: Forked) -> None:
        """Show the branch that goes on."""
        self._making = False
        if message.source is not None:
            _to_end(self.begin(message.source))
        if self._session is not None:
            name = "" if message.source is None else f"this is {message.source.name}, from here on"
            self._session.note = name if message.error is None else str(message.error)
        self.after()

    def _forkable(self) -> LiveSource | None:
        """The source, if another branch can come off it now; else the session's note says why not."""
        session = self._session
        if session is None:
            return None
        session.pause()
        if isinstance(session.source, LiveSource) and not self._making and not session.owed:
            return session.source
        live = isinstance(session.source, LiveSource)
        session.note = "rounds are being made: esc stops them" if live else "only a live run can be gone on with"
        self.after()
        return None

    def _start_fork(self, source: LiveSource, at: int, wanted: changes.Changes) -> None:
        self._making = True
        self._fork(source, at, wanted)
        if self._session is not None:
            self._session.note = "starting again" if source.end is not None else "forking"
        self.after()

    @work(thread=True, group="engine")
    def _fork(self, source: LiveSource, at: int, wanted: changes.Changes) -> None:
        try:
            self.post_message(self.Forked(source.fork(at, wanted.options, drafter=wanted.drafter)))
        except SpecstepError as error:
            self.post_message(self.Forked(None, error))

    def _look(self) -> None:
        """Take in what somebody else's engine has made; a cursor at the end stays there."""
        session = self._session
        if session is None or not isinstance(session.source, Watched):
            return
        watched, following = session.source, session.at_end and not session.owed
        try:
            change = watched.refresh()
        except TraceError as error:
            session.note = str(error)
            watched.close()
            self.after()
            return
        if change.branch:
            self.begin(watched)
        elif change.rounds:
            session.arrived()
            self.grew(session)
            if following:
                session.jump(session.last)
        elif watched.over and self._looking is not None:
            self._looking.stop()
            session.arrived()
        else:
            lost = f"{watched.name} is away: waiting for it to come back"
            if (session.note == lost) == (not watched.connected):
                return
            session.note = "" if watched.connected else lost
        self.after()


def _to_end(session: Session) -> None:
    session.series.take_in(len(session.source))
    session.jump(session.last)
