"""``specstep``: the screen over a trace or a live run; any other first word is a command without a screen."""

import os
import sys
from collections.abc import Callable, MutableMapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engine.commands.exits import complain, exit_of
from engine.commands.requests import given, takes_request
from engine.commands.watch import Target
from engine.errors import Refused, SpecstepError, TraceError
from tui.demo import demo
from tui.opening import Live, Wanted
from tui.watching import Watching, wants_screen

if TYPE_CHECKING:
    from engine.records import RoundSource
    from engine.request import LiveRequest

NO_TERMINAL = "the screen needs a terminal; without one use `specstep stats TRACE` or `specstep record`"
THEMES = ("specstep-dark", "specstep-light", "ansi-dark", "ansi-light")

Trace = Annotated[
    Path | None,
    typer.Argument(metavar="[TRACE]", help="A trace to replay; without one a live run.", show_default=False),
]
Record = Annotated[Path | None, typer.Option("--record", help="Record the live run to this trace.", show_default=False)]
Engine = Annotated[
    str | None,
    typer.Option(
        "--engine", help="The command of an engine, as in 'ssh box specstep engine --wait'.", show_default=False
    ),
]
Timeout = Annotated[
    float, typer.Option("--timeout", min=0.1, help="Seconds without a word after which an engine is given up.")
]
InProcess = Annotated[bool, typer.Option("--in-process", help="Run the engine in the screen's own process.")]
Ascii = Annotated[bool, typer.Option("--ascii", help="Draw with ASCII only.")]
NoMouse = Annotated[bool, typer.Option("--no-mouse", help="Leave the mouse to the terminal.")]
Theme = Annotated[str, typer.Option("--theme", help=f"One of {', '.join(THEMES)}.")]

screen_app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
watch_app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


def main() -> None:
    """The ``specstep`` command."""
    from engine.cli import app, names  # noqa: PLC0415 (its commands import what they need)

    try:
        if sys.argv[1:2] == ["watch"] and wants_screen(sys.argv[2:]):
            watch_app(sys.argv[2:], prog_name="specstep watch")
        elif "_SPECSTEP_COMPLETE" in os.environ or (sys.argv[1:2] and sys.argv[1] in names()):
            app()
        else:
            screen_app()
    except SpecstepError as error:
        complain(str(error))
        sys.exit(exit_of(error))


@screen_app.command(
    name="specstep",
    epilog="Commands: record, stats, show, audit, probe, faults, watch, import, export, trace, engine, info; see "
    "specstep COMMAND --help. A model's options are for a live run, which is a demo of the fallback by default.",
)
@takes_request
def screen(
    context: typer.Context,
    request: "Callable[[], LiveRequest]",
    trace: Trace = None,
    record: Record = None,
    engine: Engine = None,
    timeout: Timeout = 120.0,
    in_process: InProcess = False,
    ascii_only: Ascii = False,
    no_mouse: NoMouse = False,
    theme: Theme = THEMES[0],
) -> None:
    """A terminal debugger for speculative decoding.

    Replays TRACE, or runs a model live and steps through its rounds.
    """
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise Refused(NO_TERMINAL)
    if theme not in THEMES:
        raise Refused(f"--theme is {theme!r}: use one of {', '.join(THEMES)}")
    if trace is not None:
        if record is not None:
            raise Refused("--record is for a live run, a trace is recorded already")
        if not trace.exists():
            raise TraceError(f"{trace}: no such file, and no command of that name; see specstep --help")
        show(lambda: _open_trace(trace), f"opening {trace.name}", theme, ascii_only=ascii_only, mouse=not no_mouse)
        return
    if engine is not None and in_process:
        raise Refused("give --engine or --in-process, not both")
    wanted = request()
    if engine is None:
        wanted = demo(wanted, _told(context))
    words = None if engine is None else given(context, wanted)
    live = Live(Wanted(wanted, record, engine, words, timeout, in_process))
    try:
        show(live.open, "loading the model and reading the prompt", theme, ascii_only=ascii_only, mouse=not no_mouse)
    finally:
        live.close()


@watch_app.command(name="watch")
def watch(target: Target, ascii_only: Ascii = False, no_mouse: NoMouse = False, theme: Theme = THEMES[0]) -> None:
    """Follow an engine that writes the trace format; with --json, or without a terminal, a line a round."""
    if theme not in THEMES:
        raise Refused(f"--theme is {theme!r}: use one of {', '.join(THEMES)}")
    watching = Watching(target)
    try:
        show(watching.open, f"waiting for {target}", theme, ascii_only=ascii_only, mouse=not no_mouse)
    finally:
        watching.close()


def show(
    opener: Callable[[], "RoundSource"], waiting: str, theme: str, *, ascii_only: bool = False, mouse: bool = True
) -> None:
    """Run the screen over what ``opener`` gives, until it is left.

    Raises:
        SpecstepError: the source could not be opened.
    """
    theme = obey_no_color(os.environ, theme)
    from tui.app import SpecstepApp  # noqa: PLC0415 (Textual: only for the screen)
    from tui.marks import ASCII, UNICODE  # noqa: PLC0415

    app = SpecstepApp(opener, ASCII if ascii_only else UNICODE, waiting=waiting, theme=theme)
    error = app.run(mouse=mouse)
    if error is not None:
        raise error
    if app.return_code:
        sys.exit(app.return_code)


def _told(context: typer.Context) -> set[str]:
    """The parameters that the command line or the environment gives."""
    return {
        name
        for name in context.params
        if getattr(context.get_parameter_source(name), "name", "") in ("COMMANDLINE", "ENVIRONMENT")
    }


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


def _open_trace(path: Path) -> "RoundSource":
    from engine.trace.reader import open_trace  # noqa: PLC0415 (numpy: after the first paint)

    return open_trace(path)
