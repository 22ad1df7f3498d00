"""The debugger's screen. Keys and messages change the session; workers only post messages; ``Frame.paint`` shows it."""

import datetime
import time
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from textual import work
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.timer import Timer

from engine.errors import SpecstepError, TraceError
from engine.records import Round, RoundSource
from tui import goto, keys, layout, themes
from tui.live import LiveSource, save
from tui.marks import Marks
from tui.panes import rounds
from tui.panes.pane import Pane
from tui.screens.engine import EngineScreen
from tui.screens.help import HelpScreen
from tui.screens.prompt import PromptScreen
from tui.session import Session

Opener = Callable[[], RoundSource]

_READ_FOR = 0.008
"""Seconds of reading at a time while a long trace is taken in."""
_READ_STEP = 64


class MainScreen(EngineScreen):
    """The debugger's screen. ``opener`` gives the source; it may take its time and runs in a thread."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(bound.keys, bound.action, bound.label, show=False, id=bound.id) for bound in keys.bound()
    ]

    DIGIT_WAITS = 1.0
    """Seconds that a single digit, which also shows a pane, is still a count."""

    class Opened(Message):
        """The source is there."""

        def __init__(self, source: RoundSource) -> None:
            super().__init__()
            self.source = source

    class Failed(Message):
        """The source cannot be opened."""

        def __init__(self, error: SpecstepError) -> None:
            super().__init__()
            self.error = error

    class Made(Message):
        """The engine made a round, ended (``None``), or broke."""

        def __init__(self, round_: Round | None, error: SpecstepError | None = None) -> None:
            super().__init__()
            self.round, self.error = round_, error

    def __init__(self, opener: Opener, marks: Marks, waiting: str) -> None:
        super().__init__(marks, waiting)
        self._opener = opener
        self._active_before: int | None = None
        self._beat: Timer | None = None
        self._digit: Timer | None = None
        self._reading: Timer | None = None

    @property
    def session(self) -> Session | None:
        """The state shown, once the source is open."""
        return self._session

    def on_mount(self) -> None:
        """Start to open the source."""
        self.app.theme_changed_signal.subscribe(self, lambda _: self.repaint())
        self.repaint()
        self._open()

    def repaint(self) -> None:
        """Show the state as it is."""
        if self.is_mounted:
            self.paint(self._session, self._busy())

    # Workers: they only post messages.

    @work(thread=True, group="open")
    def _open(self) -> None:
        try:
            self.post_message(self.Opened(self._opener()))
        except SpecstepError as error:
            self.post_message(self.Failed(error))

    @work(thread=True, group="engine")
    def _make(self, source: LiveSource) -> None:
        try:
            self.post_message(self.Made(source.make()))
        except SpecstepError as error:
            self.post_message(self.Made(None, error))

    def on_main_screen_opened(self, message: Opened) -> None:
        """Show the source, and read on in a long trace bit by bit."""
        self.begin(message.source)
        self._read()
        self.repaint()

    def on_main_screen_failed(self, message: Failed) -> None:
        """There is nothing to show: leave with the reason."""
        self.app.exit(message.error)

    def on_main_screen_made(self, message: Made) -> None:
        """Take in what the engine made, and let it make what is still owed."""
        session = self._session
        if session is None or not isinstance(session.source, LiveSource):
            return
        self._making = False
        if message.error is not None:
            session.source.fail(str(message.error))
        elif message.round is None:
            session.source.finish()
        else:
            session.source.append(message.round)
        session.arrived()
        self.after()

    def on_pane_clicked(self, message: Pane.Clicked) -> None:
        """A click shows the pane; in the timeline it goes to the round under it."""
        number = layout.number_of(message.pane)
        if number == layout.ROUNDS and self._session is not None and message.y >= 0:
            size = message.pane.size
            index = rounds.round_at(self._session, message.x, message.y, size.width - 2, size.height - 1)
            if index is not None:
                self._session.jump(index)
        else:
            self.active = number
        self.after()

    def on_pane_wheel(self, message: Pane.Wheel) -> None:
        """Scroll the pane under the mouse."""
        message.pane.scroll_lines(message.step)

    # Keys.

    def action_forward(self) -> None:
        self._move(lambda session, count: session.forward(count))

    def action_back(self) -> None:
        self._move(lambda session, count: session.back(count))

    def action_into(self) -> None:
        self._move(lambda session, count: _repeat(session.into, count))

    def action_out(self) -> None:
        self._move(lambda session, count: _repeat(session.out, count))

    def action_event(self, step: int) -> None:
        self._move(lambda session, count: _repeat(lambda: session.event(step), count))

    def action_goto(self) -> None:
        session = self._session
        if session is None:
            return
        session.pause()
        count = self._count(session)
        if count is None:
            self.app.push_screen(PromptScreen("go to", goto.FORMS, "", self._go))
            return
        try:
            session.go(str(count))
        except goto.NoSuchPlace as error:
            session.note = str(error)
        self.after()

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

    def action_play(self) -> None:
        self._move(lambda session, _: session.play())

    def action_faster(self, step: int) -> None:
        self._move(lambda session, count: session.faster(step * count))
        if self._beat is not None:
            self._beat.stop()
            self._beat = None
            self.after()

    def action_interrupt(self) -> None:
        self._stop_digit()
        self._active_before = None
        if self._session is not None:
            self._session.interrupt()
            if isinstance(self._session.source, LiveSource):
                self._session.source.interrupt()
        self.after()

    def action_save(self) -> None:
        session = self._session
        if session is None:
            return
        if not session.source.live:
            session.note = "this is a trace already: only the rounds of a live run can be saved"
            self.after()
            return
        session.pause()
        self.after()
        name = f"specstep-{datetime.datetime.now():%Y%m%d-%H%M%S}.msgpack"
        hint = f"Save the {len(session.source)} rounds made so far as a trace; escape leaves it."
        self.app.push_screen(PromptScreen("file", hint, name, self._save))

    def action_cycle(self, step: int) -> None:
        self.active = (self.active - 1 + step) % len(layout.NAMES) + 1
        self.repaint()

    def action_zoom(self) -> None:
        self.zoomed = not self.zoomed
        self.repaint()

    def action_scroll(self, step: int) -> None:
        self.pane(self.active).scroll_lines(step)

    def action_theme(self) -> None:
        names = themes.NAMES
        theme = self.app.theme
        self.app.theme = names[(names.index(theme) + 1) % len(names)] if theme in names else names[0]

    def action_help(self) -> None:
        self.app.push_screen(HelpScreen(self.marks, self.styles_by_role))

    def action_quit(self) -> None:
        self.app.exit()

    # Behind the keys.

    def _move(self, change: Callable[[Session, int], object]) -> None:
        session = self._session
        if session is None:
            return
        before = session.moment
        try:
            change(session, self._count(session) or 1)
        except TraceError as error:
            session.moment, session.note = before, str(error)
        self.after()

    def _count(self, session: Session) -> int | None:
        """The count for this key. A pane that its first digit showed is left again."""
        if session.count and self._active_before is not None:
            self.active = self._active_before
        self._active_before = None
        self._stop_digit()
        return session.take_count()

    def _digit_was_a_pane(self) -> None:
        if self._session is not None:
            self._session.take_count()
        self._active_before = None
        self.repaint()

    def _stop_digit(self) -> None:
        if self._digit is not None:
            self._digit.stop()
            self._digit = None

    def _go(self, text: str) -> None:
        if self._session is not None:
            self._session.go(text)
            self.after()

    def _save(self, name: str) -> None:
        session = self._session
        if session is None:
            return
        path = Path(name.strip()).expanduser()
        if path.exists():
            raise SpecstepError(f"{path} is there already: give another name")
        save(session.source, path)
        session.note = f"saved {len(session.source)} rounds in {path}"
        self.repaint()

    def after(self) -> None:
        """What follows every change: the engine gets its next order, the beat is kept, and all is shown."""
        session = self._session
        if session is not None:
            self._serve(session)
            if session.playing and self._beat is None:
                self._beat = self.set_interval(1 / session.speed, self._on_beat)
            elif not session.playing and self._beat is not None:
                self._beat.stop()
                self._beat = None
        self.repaint()

    def _serve(self, session: Session) -> None:
        source = session.source
        if not self._making and isinstance(source, LiveSource) and (session.owed or source.spent):
            self._making = True
            source.order(session.owed)
            self._make(source)

    def _on_beat(self) -> None:
        if self._session is not None:
            self._session.tick()
            self.after()

    def _read(self) -> None:
        """Take in some more of a long trace; the screen stays usable meanwhile."""
        session = self._session
        if session is None:
            return
        until = time.perf_counter() + _READ_FOR
        while session.series.take_in(_READ_STEP) and time.perf_counter() < until:
            pass
        if session.series.complete:
            if self._reading is not None:
                self._reading.stop()
        elif self._reading is None:
            self._reading = self.set_interval(1 / 30, self._read)
        self.repaint()

    def _busy(self) -> str:
        session = self._session
        if session is None or not self._making or session.owed != 1 or session.playing:
            return ""
        return f"making round {len(session.source)}"


def _repeat(act: Callable[[], object], count: int) -> None:
    for _ in range(count):
        act()
