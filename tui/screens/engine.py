"""What the screen does with an engine: it has rounds made, forks, and starts another where one is lost."""

import asyncio
import time
from collections.abc import Callable
from threading import Thread

from textual import work
from textual.message import Message
from textual.timer import Timer

from engine.errors import SpecstepError
from engine.records import Round, RoundSource
from tui import changes
from tui.background import begun
from tui.forking import Forking
from tui.keys import KEYS, Key
from tui.live import LiveSource
from tui.marks import Marks
from tui.screens.frame import Frame
from tui.session import Session
from tui.waiting import Waiting

_FRAME = 1 / 30
"""Seconds from one picture to the next while rounds are made in a row."""
_LOOK = 0.1
"""Seconds from one look at a fork on its way to the next."""


class EngineScreen(Frame):
    """Holds the session, and replaces it where the run goes on in another branch."""

    LONG = 5.0
    """Seconds that a round may take before it is said that the engine may hang."""

    class Made(Message):
        """The engine made a round, ended (``None``), or broke."""

        def __init__(self, source: LiveSource, round_: Round | None, error: SpecstepError | None = None) -> None:
            super().__init__()
            self.source, self.round, self.error = source, round_, error

    class Forked(Message):
        """Another branch goes on, or cannot."""

        def __init__(self, forking: Forking, source: LiveSource | None, error: SpecstepError | None = None) -> None:
            super().__init__()
            self.forking, self.source, self.error = forking, source, error

    def __init__(self, marks: Marks, waiting: Waiting, keys: tuple[Key, ...] = KEYS) -> None:
        super().__init__(marks, waiting, keys)
        self._session: Session | None = None
        self._making = False
        self._forking: Forking | None = None
        self._watch: Timer | None = None
        self._late: Timer | None = None
        self._painted = self._since = 0.0
        self._patience: Timer | None = None

    def begin(self, source: RoundSource) -> Session:
        """Show a source from here on."""
        self._session = Session(source)
        self._session.keys = self.keys
        return self._session

    @property
    def awaited(self) -> Waiting | None:
        """What is waited for, and shown as far as it is: the source, or a fork that takes long."""
        if self._session is None:
            return super().awaited
        return self._forking.waiting if self._forking is not None and self._forking.long else None

    def repaint(self) -> None:
        """Show the state as it is; while rounds rush by, no more often than can be seen."""
        if not self.composed:
            return
        session, now = self._session, time.monotonic()
        rushing = session is not None and session.owed > 1
        if not rushing or now - self._painted >= _FRAME:
            self._painted = now
            self.paint(session, self._busy())
        elif self._late is None:
            self._late = self.set_timer(_FRAME, self._paint_late)

    def after(self) -> None:
        """What follows every change of the session: the engine gets its next order, and all is shown."""
        if self._session is not None:
            self._serve(self._session)
        self.repaint()

    def grew(self, session: Session) -> None:
        """What follows when rounds have come."""

    def ask(self, label: str, hint: str, value: str, answer: Callable[[str], None], *, over: bool = False) -> None:
        """Ask for a line of text in a prompt."""
        from tui.screens.prompt import PromptScreen  # noqa: PLC0415 (where something is asked for)

        self.app.push_screen(PromptScreen(label, hint, value, answer, over=over))

    def action_quit(self) -> None:
        """Leave, also while the source is still being opened, or while an engine is at a round that may never come."""
        source = None if self._session is None else self._session.source
        if source is None:
            self._waiting.give_up()
        elif not self.gave_up_fork() and self._making and isinstance(source, LiveSource) and source.engine is not None:
            Thread(target=source.engine.close, daemon=True).start()
        self.app.exit()

    def action_restart(self) -> None:
        """Start a lost engine again behind the last good round; one that does not answer is ended by this first."""
        session = self._session
        source = None if session is None else session.source
        if session is None or not isinstance(source, LiveSource) or source.engine is None:
            if self._forkable() is not None and session is not None:
                session.note = f"the engine runs in this process: {session.key('run.options')} goes on by other options"
                self.after()
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

    def gave_up_fork(self) -> bool:
        """Give up a fork on its way; whether there is one that can be given up."""
        if self._forking is None or not self._forking.can_end:
            return False
        self._forking.give_up()
        self.repaint()
        return True

    def fork(self, at: int, wanted: changes.Changes) -> None:
        """Go on by other options behind the first ``at`` rounds, or say why that cannot be done."""
        source = self._forkable()
        if source is not None:
            self._start_fork(source, at, wanted)

    def on_engine_screen_forked(self, message: Forked) -> None:
        """Show the branch that goes on."""
        self._making, self._forking = False, None
        if self._watch is not None:
            self._watch.stop()
        came, forking = message.source, message.forking
        if came is not None:
            _to_end(self.begin(came))
        session = self._session
        if session is not None and came is not None:
            again = "the engine was started again: " if came.restarted else ""
            session.note = f"{again}this is {came.name}, from round {came.forked_at} on"
        elif session is not None:
            if isinstance(session.source, LiveSource) and session.source.spent:
                session.source.finish()
                session.arrived()
            given_up = forking.given_up_for(session.key("run.restart"))
            session.note = given_up if forking.given_up else str(message.error)
        self.after()

    def on_engine_screen_made(self, message: Made) -> None:
        """Take in what the engine made, and let it make what is still owed."""
        session, source = self._session, message.source
        self._making = False
        if message.error is not None:
            source.fail(str(message.error))
        elif message.round is None:
            source.finish()
        else:
            source.append(message.round)
        if session is not None and session.source is source:
            session.arrived()
            self.grew(session)
        self.after()

    def _serve(self, session: Session) -> None:
        """Give the engine its next order."""
        source = session.source
        if not self._making and isinstance(source, LiveSource) and (session.owed or source.spent):
            self._making, self._since = True, time.monotonic()
            if self._patience is None:
                self._patience = self.set_timer(self.LONG, self._lose_patience)
            source.order(session.owed, session.until)
            self._make(source)

    def _lose_patience(self) -> None:
        """Say of a round that takes long what can be done about it."""
        self._patience = None
        if self._making:
            left = self.LONG - (time.monotonic() - self._since)
            if left > 0:
                self._patience = self.set_timer(left, self._lose_patience)
            else:
                self.repaint()

    @work(thread=True, group="engine")
    def _make(self, source: LiveSource) -> None:
        try:
            self.post_message(self.Made(source, source.make()))
        except SpecstepError as error:
            self.post_message(self.Made(source, None, error))

    def _paint_late(self) -> None:
        self._late = None
        self.repaint()

    def _busy(self) -> str:
        session = self._session
        if session is None or not self._making or session.owed != 1 or session.playing:
            return ""
        now = f"making round {len(session.source)}"
        source = session.source
        if time.monotonic() - self._since < self.LONG or not isinstance(source, LiveSource) or source.engine is None:
            return now
        return f"{now}, which takes long: {session.key('run.restart')} ends an engine that hangs"

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
        self._making, self._forking = True, Forking(source, at, wanted)
        self._fork(self._forking)
        self._watch = self.set_interval(_LOOK, self.repaint)
        if self._session is not None:
            self._session.note = self._forking.says
        self.after()

    @work(group="engine")
    async def _fork(self, forking: Forking) -> None:
        try:
            self.post_message(self.Forked(forking, await asyncio.wrap_future(begun(forking.make, "fork"))))
        except SpecstepError as error:
            self.post_message(self.Forked(forking, None, error))


def _to_end(session: Session) -> None:
    session.series.take_in(len(session.source))
    session.jump(session.last)
