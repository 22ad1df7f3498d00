"""The command lines of the screen: ``specstep`` itself with options, and ``specstep watch`` in a terminal."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engine.commands.requests import given, takes_request
from engine.commands.table import COMMANDS
from engine.commands.watch import Target
from engine.errors import Refused
from engine.version import VERSION
from tui.commands.flags import Ascii, Mouse, Theme
from tui.commands.showing import settings, show
from tui.commands.starting import live, replay
from tui.commands.table import OWN
from tui.demo import demo
from tui.opening import Wanted
from tui.watching import Watching

if TYPE_CHECKING:
    from engine.request import LiveRequest


def _version(on: bool) -> None:
    if on:
        typer.echo(f"specstep {VERSION}")
        raise typer.Exit


Trace = Annotated[
    Path | None,
    typer.Argument(metavar="[TRACE]", help="A trace to replay; without one a live run.", show_default=False),
]
Record = Annotated[Path | None, typer.Option("--record", help="Record the live run to this trace.", show_default=False)]
Follow = Annotated[bool, typer.Option("--follow", help="Follow TRACE while it is written.")]
Engine = Annotated[
    str | None,
    typer.Option(
        "--engine", help="The command of an engine, as in 'ssh box specstep engine --wait'.", show_default=False
    ),
]
Timeout = Annotated[
    float, typer.Option("--timeout", min=0.1, help="Seconds without a word after which an engine is given up.")
]
Version = Annotated[
    bool, typer.Option("--version", help="Say which version this is.", is_eager=True, callback=_version)
]
InProcess = Annotated[bool, typer.Option("--in-process", help="Run the engine in the screen's own process.")]

screen_app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
watch_app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


@screen_app.command(
    name="specstep",
    epilog=f"Commands: {', '.join((*OWN, *COMMANDS))}; see specstep COMMAND --help. A model's options are for a live "
    "run, which is a demo of the fallback by default.",
)
@takes_request
def screen(
    context: typer.Context,
    request: "Callable[[], LiveRequest]",
    trace: Trace = None,
    follow: Follow = False,
    record: Record = None,
    engine: Engine = None,
    timeout: Timeout = 120.0,
    in_process: InProcess = False,
    ascii_only: Ascii = None,
    mouse: Mouse = None,
    theme: Theme = None,
    version: Version = False,  # noqa: ARG001 (its callback answers)
) -> None:
    """A terminal debugger for speculative decoding.

    Replays TRACE, or runs a model live and steps through its rounds.
    """
    look = settings(ascii_only, mouse, theme)
    if trace is not None:
        if record is not None:
            raise Refused("--record is for a live run, a trace is recorded already")
        replay(trace, look, follow=follow)
        return
    if follow:
        raise Refused("--follow is for a trace that is being written: give its file")
    if engine is not None and in_process:
        raise Refused("give --engine or --in-process, not both")
    wanted = request()
    if engine is None:
        wanted = demo(wanted, _told(context))
    words = None if engine is None else given(context, wanted)
    live(Wanted(wanted, record, engine, words, timeout, in_process), look)


@watch_app.command(name="watch")
def watch(target: Target, ascii_only: Ascii = None, mouse: Mouse = None, theme: Theme = None) -> None:
    """Follow an engine that writes the trace format; with --json, or without a terminal, a line a round."""
    look = settings(ascii_only, mouse, theme)
    from tui.waiting import Waiting  # noqa: PLC0415

    watching = Watching(target)
    try:
        show(watching.open, Waiting(f"waiting for {target}", stop=watching.close), look)
    finally:
        watching.close()


def _told(context: typer.Context) -> set[str]:
    """The parameters that the command line or the environment gives."""
    return {
        name
        for name in context.params
        if getattr(context.get_parameter_source(name), "name", "") in ("COMMANDLINE", "ENVIRONMENT")
    }
