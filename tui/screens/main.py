"""The debugger's screen. Keys and messages change the session; workers only post messages; ``Frame.paint`` shows it."""

import time
from collections.abc import Callable
from typing import ClassVar, TypeVar

from textual import work
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.screen import ModalScreen
from textual.timer import Timer

from engine.errors import SpecstepError, TraceError
from engine.records import Round, RoundSource
from tui import layout, themes
from tui.features.all import FEATURES
from tui.features.feature import Feature
from tui.keys import KEYS, Key, bound, hint_at
from tui.lines import Line
from tui.live import LiveSource
from tui.marks import Marks
from tui.panes import rounds
from tui.panes.pane import Bar, Pane
from tui.screens.counts import CountScreen
from tui.screens.help import HelpScreen
from tui.screens.palette import PaletteScreen
from tui.session import Session
from tui.waiting import Waiting

Opener = Callable[[], RoundSource]
T = TypeVar("T")

_READ_FOR = 0.012
"""Seconds of reading at a time while a long trace is taken in."""
_READ_STEP = 256
_LOOK = 0.1
"""Seconds from one look at the opening to the next."""


class MainScreen(CountScreen):
    """The debugger's screen. ``opener`` gives the source; it may take its time and runs in a thread.

    What it can do beside walking over rounds are its features; it is their ``Host``.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(each.keys, each.action, each.label, show=False, id=each.id) for each in bound()
    ]

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

        def __init__(self, source: LiveSource, round_: Round | None, error: SpecstepError | None = None) -> None:
            super().__init__()
            self.source, self.round, self.error = source, round_, error

    class Done(Message):
        """A thread is done with something; ``then`` takes it in."""

        def __init__(self, then: Callable[[], object]) -> None:
            super().__init__()
            self.then = then

    def __init__(
        self, opener: Opener, marks: Marks, waiting: Waiting, keys: tuple[Key, ...] = KEYS, first: str = ""
    ) -> None:
        super().__init__(marks, waiting, keys)
        self._first = first
        self.features: dict[str, Feature] = {kind.name: kind(self) for kind in FEATURES}
        self._opener = opener
        self._beat: Timer | None = None
        self._reading: Timer | None = None

    @property
    def session(self) -> Session | None:
        """The state shown, once the source is open."""
        return self._session

    def on_mount(self) -> None:
        """Start to open the source."""
        self.app.theme_changed_signal.subscribe(self, lambda _: self.repaint())
        self.repaint()
        self._clock = self.set_interval(_LOOK, self.repaint)
        self._open()

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
            self.post_message(self.Made(source, source.make()))
        except SpecstepError as error:
            self.post_message(self.Made(source, None, error))

    @work(thread=True, group="job")
    def _work(
        self, job: Callable[[], T], done: Callable[[T], object], failed: Callable[[SpecstepError], object]
    ) -> None:
        try:
            came = job()
        except SpecstepError as error:
            fault = error
            self.post_message(self.Done(lambda: failed(fault)))
        else:
            self.post_message(self.Done(lambda: done(came)))

    async def on_main_screen_opened(self, message: Opened) -> None:
        """Show the source, and do what is to be done first."""
        self._clock.stop()
        self.show(message.source)
        if self._first:
            await self.run_action(self._first)

    def on_main_screen_done(self, message: Done) -> None:
        """Take in what a feature's thread brought."""
        message.then()

    def on_main_screen_failed(self, message: Failed) -> None:
        """There is nothing to show: leave with the reason."""
        self.app.exit(None if self._waiting.given_up else message.error)

    def on_main_screen_made(self, message: Made) -> None:
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

    def on_pane_clicked(self, message: Pane.Clicked) -> None:
        """A click shows the pane; in the timeline it goes to the round under it."""
        number, size = layout.number_of(message.pane), message.pane.size
        where = (message.y, size.width - 2, size.height - 1)
        if message.y < 0 and self.alone and number == self.active:
            self.active = layout.tab_at(number, self.size.width - 2, message.x)
        elif any(feature.clicked(number, *where) for feature in self.features.values()):
            self.active = number
        elif number == layout.ROUNDS and self._session is not None and message.y >= 0:
            index = rounds.round_at(self._session, message.x, message.y, size.width - 2, size.height - 1)
            if index is not None:
                self._session.jump(index)
        else:
            self.active = number
        self.after()

    async def on_bar_clicked(self, message: Bar.Clicked) -> None:
        """A click on a key of the footer is that key."""
        hint = hint_at(self.hints, message.x) if message.bar.id == "footer" else None
        if hint is not None:
            await self.run_action(hint.action)

    def on_pane_wheel(self, message: Pane.Wheel) -> None:
        """Scroll the pane under the mouse."""
        number = layout.number_of(message.pane)
        if any(feature.wheeled(number, message.step) for feature in self.features.values()):
            self.after()
        else:
            message.pane.scroll_lines(message.step)

    # Keys.

    def action_do(self, name: str, *arguments: object) -> None:
        """An action of a feature: ``feature.method``."""
        feature, _, method = name.partition(".")
        getattr(self.features[feature], method)(*arguments)

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
            self._beat.stop()
            self._beat = None
            self.after()

    def action_interrupt(self) -> None:
        if self._session is None:
            self.action_quit()
            return
        if not (self._session and self._session.count) and any(feature.escaped() for feature in self.features.values()):
            self.after()
            return
        self.drop_digit()
        if self._session is not None:
            self._session.interrupt()
            if isinstance(self._session.source, LiveSource):
                self._session.source.interrupt()
        self.after()

    def action_cycle(self, step: int) -> None:
        self.active = (self.active - 1 + step) % len(layout.NAMES) + 1
        self.repaint()

    def action_zoom(self) -> None:
        self.zoomed = not self.zoomed
        self.repaint()

    def action_scroll(self, step: int) -> None:
        if any(feature.scrolled(step) for feature in self.features.values()):
            self.after()
        else:
            self.pane(self.active).scroll_lines(step)

    def action_enter(self) -> None:
        if any(feature.entered() for feature in self.features.values()):
            self.after()

    def action_theme(self) -> None:
        names = themes.NAMES
        theme = self.app.theme
        self.app.theme = names[(names.index(theme) + 1) % len(names)] if theme in names else names[0]

    def action_help(self) -> None:
        self.app.push_screen(HelpScreen(self.marks, self.styles_by_role, self.keys))

    def action_palette(self) -> None:
        self.push(PaletteScreen(self.marks, self.keys, self._run_chosen))

    def action_quit(self) -> None:
        if self._session is None:
            self._waiting.give_up()
        self.app.exit()

    # What features use: see ``Host``.

    def move(self, change: Callable[[Session, int], object]) -> None:
        session = self._session
        if session is None:
            return
        before = session.moment
        try:
            change(session, self.count() or 1)
        except TraceError as error:
            session.moment, session.note = before, str(error)
        self.after()

    def look_at(self, number: int) -> None:
        self.active = number

    def say(self, note: str) -> None:
        if self._session is not None:
            self._session.note = note
        self.after()

    def picture(self) -> str:
        return self.app.export_screenshot(title="specstep")

    def copy(self, text: str) -> None:
        self.app.copy_to_clipboard(text)

    def push(self, screen: ModalScreen[None]) -> None:
        self.app.push_screen(screen)

    def show(self, source: RoundSource) -> None:
        before = self._session
        if before is not None:
            before.interrupt()
            if isinstance(before.source, LiveSource):
                before.source.interrupt()
        self.begin(source)
        self._read()
        self.after()

    def every(self, seconds: float, call: Callable[[], object]) -> Timer:
        return self.set_interval(seconds, call)

    def thread(
        self, job: Callable[[], T], done: Callable[[T], object], failed: Callable[[SpecstepError], object]
    ) -> None:
        self._work(job, done, failed)

    def begin(self, source: RoundSource) -> Session:
        session = super().begin(source)
        for feature in self.features.values():
            feature.opened(session)
        return session

    def grew(self, session: Session) -> None:
        for feature in self.features.values():
            feature.grew(session)

    def caption(self, width: int, /) -> list[Line]:
        return [line for feature in self.features.values() for line in feature.caption(width)]

    # Behind the keys.

    def _walk(self, direction: int, change: Callable[[Session, int], object]) -> None:
        if self._session is not None:
            count = int(self._session.count or 1) * direction
            if any(feature.walks(count) for feature in self.features.values()):
                self.count()
                self.after()
                return
        self.move(change)

    async def _run_chosen(self, action: str) -> None:
        await self.run_action(action)

    def after(self) -> None:
        """What follows every change: the engine gets its next order, the beat is kept, and all is shown."""
        session = self._session
        if session is not None:
            for feature in self.features.values():
                feature.changed(session)
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
            source.order(session.owed, session.until)
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
        self.grew(session)
        if session.series.complete:
            if self._reading is not None:
                self._reading.stop()
                self._reading = None
        elif self._reading is None:
            self._reading = self.set_interval(1 / 40, self._read)
        self.repaint()


def _repeat(act: Callable[[], object], count: int) -> None:
    for _ in range(count):
        act()
