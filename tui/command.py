"""``specstep``: the screen over a trace or a live run; any other first word is a command without a screen.

What is most often wanted, the screen over a trace or over the demo's run, is started without Typer, which takes longer
to load than the command line is to read; so nothing is imported here that it does not need.
"""

import os
import sys
from collections.abc import Mapping, Sequence

from engine.commands.ending import ending
from engine.commands.run_values import VARIABLES
from engine.commands.table import COMMANDS, COMPLETION
from tui.commands.table import OWN

_COMPLETE = "_SPECSTEP_COMPLETE"
"""Set by a shell that wants to know how a command line may go on."""


def main() -> None:
    """The ``specstep`` command."""
    words = sys.argv[1:]
    with ending():
        if is_plain(words, os.environ):
            from tui.commands.starting import start  # noqa: PLC0415

            start(words)
        else:
            _read(words)


def is_plain(words: Sequence[str], environ: Mapping[str, str]) -> bool:
    """Whether nothing is left to be read: there is no word, or only that of a trace, and no variable says more."""
    if _COMPLETE in environ:
        return False
    if not words:
        return not VARIABLES & environ.keys()
    word = words[0]
    return len(words) == 1 and word != "" and not word.startswith("-") and not _is_command(word)


def _is_command(word: str) -> bool:
    return word in COMMANDS or word in OWN or word in COMPLETION


def _read(words: Sequence[str]) -> None:
    """Have Typer read the command line, and do what it says."""
    if words[:1] == ["watch"]:
        from tui.watching import wants_screen  # noqa: PLC0415

        if wants_screen(words[1:]):
            from tui.commands.screen import watch_app  # noqa: PLC0415

            watch_app(words[1:], prog_name="specstep watch")
            return
    if _COMPLETE in os.environ or (words and _is_command(words[0])):
        from engine.cli import app_of  # noqa: PLC0415

        app_of({**COMMANDS, **OWN})()
    else:
        from tui.commands.screen import screen_app  # noqa: PLC0415

        screen_app()
