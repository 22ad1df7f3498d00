"""Starts the screen over a trace or a live run, whoever read the command line. No Typer."""

import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from engine.errors import TraceError
from tui.commands.showing import settings, show
from tui.opening import Live, Wanted
from tui.settings import Settings


def start(words: Sequence[str]) -> None:
    """What ``specstep`` does with no word, and with one that is a trace.

    Raises:
        SpecstepError: it cannot be done.
    """
    look = settings()
    if words:
        replay(Path(words[0]), look)
        return
    from engine.commands.requests import request_of  # noqa: PLC0415 (only for a live run)
    from tui.demo import demo  # noqa: PLC0415

    live(Wanted(demo(request_of(), frozenset())), look)


def replay(path: Path, look: Settings, *, follow: bool = False) -> None:
    """The screen over a trace.

    Raises:
        TraceError: there is none, or it cannot be read.
    """
    if not path.exists():
        raise TraceError(f"{path}: no such file, and no command of that name; see specstep --help")
    from engine.trace.reader import open_trace  # noqa: PLC0415

    with ExitStack() as opened:
        show(lambda: opened.enter_context(open_trace(path, follow=follow)), f"opening {path.name}", look)


def live(wanted: Wanted, look: Settings) -> None:
    """The screen over a live run.

    Raises:
        SpecstepError: the run cannot be started.
    """
    from tui.waiting import Waiting  # noqa: PLC0415

    run = Live(wanted)
    try:
        show(run.open, Waiting("loading the model and reading the prompt", run.loading, run.stop), look)
    finally:
        run.close()
    if run.stuck:
        # The thread that loads would be waited for, or cut in the middle of what is not Python.
        sys.stdout.flush()
        os._exit(0)
