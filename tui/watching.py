"""``specstep watch`` in a terminal: the screen over a run that somebody else's engine makes."""

import os
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from engine.errors import Refused, TraceError

if TYPE_CHECKING:
    from engine.process.watch import Watched

POLL = 0.05


def wants_screen(words: Sequence[str]) -> bool:
    """Whether the words behind ``watch`` are for the screen: not without a terminal, nor where lines are asked for."""
    lines = {"--json", "--share", "--help"}
    terminals = all(stream is not None and stream.isatty() for stream in (sys.stdout, sys.stderr))
    return terminals and not any(word.split("=")[0] in lines for word in words)


class Watching:
    """A watched run that is opened when the screen is up."""

    def __init__(self, target: str) -> None:
        from engine.process.feed import PipeFeed, feed_of  # noqa: PLC0415 (only to watch)
        from engine.process.watch import Watched  # noqa: PLC0415

        feed = PipeFeed(terminal_for_stdin(), "stdin") if target == "-" else feed_of(target)
        self._watched = Watched(feed)

    def open(self) -> "Watched":
        """Wait until there is a run.

        Raises:
            TraceError: what comes is no trace, or nothing will come.
        """
        watched = self._watched
        while not watched.begun:
            if watched.over:
                raise TraceError(f"{watched.name}: closed before a run began")
            if not watched.refresh().branch:
                time.sleep(POLL)
        return watched

    def close(self) -> None:
        """Watch no more."""
        self._watched.close()


def terminal_for_stdin() -> int:
    """Take the keys from the terminal, because stdin is what is watched; a descriptor for that.

    Raises:
        Refused: there is no terminal.
    """
    try:
        terminal = os.open("/dev/tty", os.O_RDWR)
    except OSError as error:
        raise Refused("the screen needs a terminal for its keys; give --json for lines") from error
    watched = os.dup(0)
    os.dup2(terminal, 0)
    os.close(terminal)
    return watched
