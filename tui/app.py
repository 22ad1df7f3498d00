"""The application: themes, and one screen over one source."""

from typing import ClassVar

from textual.app import App
from textual.binding import Binding, BindingType
from textual.events import Event
from textual.events import Key as KeyPress
from textual.screen import Screen

from engine.errors import SpecstepError
from tui.keys import KEYS, Key
from tui.marks import Marks
from tui.screens.main import MainScreen, Opener
from tui.themes import DARK, LIGHT, NAMES, ansi_variables
from tui.waiting import Waiting


class SpecstepApp(App[SpecstepError]):
    """Runs the screen; its result is the error for which it had to leave, if any."""

    TITLE = "specstep"
    ENABLE_COMMAND_PALETTE = False
    CSS_PATH = "screens/main.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+c", "leave", show=False, priority=True)]

    def __init__(
        self,
        opener: Opener,
        marks: Marks,
        *,
        waiting: str | Waiting,
        theme: str = NAMES[0],
        keys: tuple[Key, ...] = KEYS,
        first: str = "",
    ) -> None:
        super().__init__()
        self._main = MainScreen(opener, marks, Waiting(waiting) if isinstance(waiting, str) else waiting, keys, first)
        self.set_keymap(
            {key.id: ",".join(key.keys) for key, own in zip(keys, KEYS, strict=True) if key.keys != own.keys}
        )
        self.register_theme(DARK)
        self.register_theme(LIGHT)
        self.theme = theme

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return ansi_variables(dark=self.current_theme.dark)

    async def on_event(self, event: Event) -> None:
        """A key that opens a screen is done with when that screen takes keys: what is typed ahead is meant for it."""
        await super().on_event(event)
        if isinstance(event, KeyPress) and not self.screen.is_mounted:
            await self.screen._mounted_event.wait()

    async def action_quit(self) -> None:
        self._main.action_quit()

    def action_leave(self) -> None:
        """Close what stands over the screen, else stop what runs, else leave."""
        if self.screen is self._main:
            self._main.action_leave()
        else:
            self.screen.dismiss()

    def get_default_screen(self) -> Screen[None]:
        return self._main
