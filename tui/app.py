"""The application: themes, and one screen over one source."""

from collections.abc import Awaitable, Callable, Iterable

from textual.app import App, SystemCommand
from textual.screen import Screen

from engine.errors import SpecstepError
from tui.keys import KEYS
from tui.marks import Marks
from tui.screens.main import MainScreen, Opener
from tui.themes import ANSI_VARIABLES, DARK, LIGHT, NAMES


class SpecstepApp(App[SpecstepError]):
    """Runs the screen; its result is the error for which it had to leave, if any."""

    TITLE = "specstep"
    CSS_PATH = "screens/main.tcss"

    def __init__(self, opener: Opener, marks: Marks, *, waiting: str, theme: str = NAMES[0]) -> None:
        super().__init__()
        self._main = MainScreen(opener, marks, waiting)
        self.register_theme(DARK)
        self.register_theme(LIGHT)
        self.theme = theme

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return ANSI_VARIABLES

    def get_default_screen(self) -> Screen[None]:
        return self._main

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """The palette holds the keys that need no argument."""
        if screen is self._main:
            for key in KEYS:
                if key.action:
                    yield SystemCommand(key.label, f"{key.help} ({key.shown})", self._runner(key.action))

    def _runner(self, action: str) -> Callable[[], Awaitable[None]]:
        async def run() -> None:
            await self._main.run_action(action)

        return run
