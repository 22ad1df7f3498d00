"""A running app without a terminal, as a person sees and presses it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from textual.pilot import Pilot

from engine.errors import SpecstepError
from engine.records import RoundSource
from tests.limits import HANG
from tui.app import SpecstepApp
from tui.keys import KEYS, Key
from tui.marks import UNICODE, Marks
from tui.screens.main import MainScreen
from tui.session import Session


class Screen:
    """A running app, as a person sees and presses it."""

    def __init__(self, app: SpecstepApp, pilot: Pilot[SpecstepError]) -> None:
        self.app, self.pilot = app, pilot

    @property
    def main(self) -> MainScreen:
        return next(screen for screen in self.app.screen_stack if isinstance(screen, MainScreen))

    @property
    def session(self) -> Session:
        assert self.main.session is not None
        return self.main.session

    @property
    def lines(self) -> list[str]:
        """The rows of the terminal."""
        rows = self.app.screen._compositor.render_strips()
        return ["".join(segment.text for segment in row) for row in rows]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    async def press(self, *keys: str) -> None:
        """Press them one after the other, each when all that came of the one before is there."""
        for key in keys:
            await self.pilot.press(key)
            await self.settle()

    async def settle(self) -> None:
        """Until the engine has made what is owed, what begins behind a picture is done, and all of it is shown."""
        for _ in range(2):
            await self.app.workers.wait_for_complete()
            await self.pilot.pause()
        while self.main.session is not None and self.session.owed:
            await asyncio.sleep(0.005)
        await self.app.workers.wait_for_complete()
        await self.pilot.pause()

    async def until(self, holds: Callable[[], object]) -> None:
        """Until timers and threads have brought what is waited for, and it is shown."""
        async with asyncio.timeout(HANG):
            await self.settle()
            while not holds():
                await asyncio.sleep(0.005)
                await self.settle()
            await self.settle()


@asynccontextmanager
async def running(
    source: RoundSource | Callable[[], RoundSource],
    size: tuple[int, int] = (120, 40),
    marks: Marks = UNICODE,
    keys: tuple[Key, ...] = KEYS,
) -> AsyncIterator[Screen]:
    opener = source if callable(source) else lambda: source
    app = SpecstepApp(opener, marks, waiting="opening", keys=keys)
    async with app.run_test(size=size) as pilot:
        screen = Screen(app, pilot)
        await screen.settle()
        yield screen
