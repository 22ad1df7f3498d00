"""Runs the screen, by what a person has set in a file and what the command line says over it. No Typer."""

import gc
import os
import sys
from collections.abc import Callable, MutableMapping
from typing import TYPE_CHECKING

from engine import paths
from engine.errors import Refused
from tui.opening import Ahead
from tui.settings import THEMES, Settings, read

if TYPE_CHECKING:
    from engine.records import RoundSource
    from tui.waiting import Waiting

NO_TERMINAL = "the screen needs a terminal; without one use `specstep stats TRACE` or `specstep record`"

_DRIVER = "TEXTUAL_DRIVER"
"""Set where the screen is shown elsewhere than in a terminal, as in a browser."""


def settings(ascii_only: bool | None = None, mouse: bool | None = None, theme: str | None = None) -> Settings:
    """The settings for this start.

    Raises:
        Refused: one cannot be obeyed, or there is no terminal.
    """
    # A stream that was closed before the start is none.
    terminal = all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))
    if not terminal and _DRIVER not in os.environ:
        raise Refused(NO_TERMINAL)
    if theme is not None and theme not in THEMES:
        raise Refused(f"--theme is {theme!r}: use one of {', '.join(THEMES)}")
    own = read(paths.config_file())
    return own._replace(
        theme=own.theme if theme is None else theme,
        ascii=own.ascii if ascii_only is None else ascii_only,
        mouse=own.mouse if mouse is None else mouse,
    )


def show(opener: Callable[[], "RoundSource"], waiting: "str | Waiting", wanted: Settings, first: str = "") -> None:
    """Run the screen over what ``opener`` gives, until it is left. ``first`` is an action to begin with.

    Raises:
        SpecstepError: the source could not be opened.
    """
    theme = obey_no_color(os.environ, wanted.theme or THEMES[0])
    ahead = Ahead(opener)
    # What is loaded stays, and looking for garbage among it takes long: that begins with the first picture.
    gc.disable()
    from tui.app import SpecstepApp  # noqa: PLC0415 (Textual: only for the screen)
    from tui.marks import ASCII, UNICODE  # noqa: PLC0415

    gc.freeze()
    ahead.check()
    marks = ASCII if wanted.ascii else UNICODE
    app = SpecstepApp(ahead, marks, waiting=waiting, theme=theme, keys=wanted.keys, first=first)
    error = app.run(mouse=wanted.mouse)
    if error is not None:
        raise error
    if app.return_code:
        sys.exit(app.return_code)


def obey_no_color(environ: MutableMapping[str, str], theme: str) -> str:
    """The theme to use: with NO_COLOR one that sends no colours. An empty NO_COLOR means nothing, and is removed.

    Textual must find such a theme in place when the app is made: set later, it would turn every colour to grey.
    """
    if environ.get("NO_COLOR"):
        theme = theme if theme.startswith("ansi-") else "ansi-dark"
        environ["TEXTUAL_THEME"] = theme
        return theme
    environ.pop("NO_COLOR", None)
    return theme
