"""The debugger's screen. Keys and messages change the session; workers only post messages; ``Frame.paint`` shows it."""

from collections.abc import Callable
from typing import ClassVar

from textual import work
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.timer import Timer

from engine.errors import SpecstepError
from engine.records import RoundSource
from tui import layout, themes
from tui.keys import KEYS, Key, bound, hint_at
from tui.marks import Marks
from tui.opening import Ahead
from tui.panes import rounds
from tui.panes.pane import Bar, Pane
from tui.screens.walking import WalkScreen
from tui.waiting import Waiting

Opener = Callable[[], RoundSource]

_LOOK = 0.1
"""Seconds from one look at the opening to the next."""


class MainScreen(WalkScreen):
    """Opens the source, and takes keys and the mouse.

    ``opener`` gives the source; it may take its time and runs in a thread, unless it is there already. ``first`` is an
    action to begin with.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(each.keys, each.action, each.label, show=False, priority=True, id=each.id) for each in bound()
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

    def __init__(
        self, opener: Opener, marks: Marks, waiting: Waiting, keys: tuple[Key, ...] = KEYS, first: str = ""
    ) -> None:
        super().__init__(marks, waiting, keys)
        self._first = first
        self._opener = opener
        self._clock: Timer | None = None

    def on_mount(self) -> None:
        """Begin with the source, so that the first picture is one of it, or start to open it. ``Frame`` paints then."""
        self.app.theme_changed_signal.subscribe(self, lambda _: self.repaint())
        ahead = self._opener if isinstance(self._opener, Ahead) else None
        if ahead is not None and ahead.there:
            self._begin_with(ahead())
        else:
            self._clock = self.set_interval(_LOOK, self.repaint)
            self._open(ahead or Ahead(self._opener))

    # The source.

    @work(group="open")
    async def _open(self, ahead: Ahead) -> None:
        try:
            self.post_message(self.Opened(await ahead.come()))
        except SpecstepError as error:
            self.post_message(self.Failed(error))

    def on_main_screen_opened(self, message: Opened) -> None:
        """Show the source."""
        if self._clock is not None:
            self._clock.stop()
        self._begin_with(message.source)

    def on_main_screen_failed(self, message: Failed) -> None:
        """There is nothing to show: leave with the reason."""
        self.app.exit(None if self._waiting.given_up else message.error)

    def _begin_with(self, source: RoundSource) -> None:
        self.show(source)
        if self._first:
            self.call_later(self.run_action, self._first)

    # The mouse.

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

    def action_cycle(self, step: int) -> None:
        self.active = (self.active - 1 + step) % len(layout.NAMES) + 1
        self.repaint()

    def action_pane(self, number: int) -> None:
        self.active = number
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
        elif self._session is not None:
            key = self._session.key("enter")
            self.say(f"{key} is for {len(layout.NAMES)} {layout.NAMES[-1]}, and to fork in a what-if of a live run")

    def action_theme(self) -> None:
        names = themes.NAMES
        theme = self.app.theme
        self.app.theme = names[(names.index(theme) + 1) % len(names)] if theme in names else names[0]

    def action_help(self) -> None:
        from tui.screens.help import HelpScreen  # noqa: PLC0415 (where it is asked for)

        self.app.push_screen(HelpScreen(self.marks, self.styles_by_role, self.keys))

    def action_palette(self) -> None:
        from tui.screens.palette import PaletteScreen  # noqa: PLC0415

        self.push(PaletteScreen(self.marks, self.keys, self._run_chosen))

    async def _run_chosen(self, action: str) -> None:
        await self.run_action(action)
