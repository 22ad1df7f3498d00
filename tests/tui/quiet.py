"""An event loop that knows when it has nothing to do, so that tests need not guess by the clock when a screen is ready.

A loop asks its selector to wait only when nothing is left to run at once: every message was handled, and every message
that followed from it. How fast the machine is plays no part. What threads and timers will bring is not waited for.
"""

import asyncio
import selectors
from typing import Any


class _Selector(selectors.DefaultSelector):
    """Tells those who wait for it that its loop would have to wait."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting: list[asyncio.Future[None]] = []

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if self.waiting and (timeout is None or timeout > 0):
            ready = super().select(0)
            if ready:
                return ready
            for future in self.waiting:
                if not future.done():
                    future.set_result(None)
            self.waiting.clear()
            return []
        return super().select(timeout)


class QuietLoop(asyncio.SelectorEventLoop):
    """The loop of a test of the screen."""

    def __init__(self) -> None:
        self._watched = _Selector()
        super().__init__(self._watched)

    async def quiet(self) -> None:
        """Until all that could be done at once has been done."""
        future = self.create_future()
        self._watched.waiting.append(future)
        await future


async def quiet(*_: Any) -> None:
    """In place of Textual's ``wait_for_idle``, which sleeps until the processor seems to be at rest."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, QuietLoop)
    await loop.quiet()
