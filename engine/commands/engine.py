"""``specstep engine``: a run as a process that a debugger, or any other program, gives its commands."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engine.commands.exits import Exit
from engine.commands.requests import takes_request
from engine.commands.serving import serve_here
from engine.errors import Refused

if TYPE_CHECKING:
    from engine.request import LiveRequest

Wait = Annotated[bool, typer.Option("--wait", help="Wait for an open command, which may change the options.")]
Share = Annotated[
    Path | None,
    typer.Option("--share", help="A Unix socket, made here, at which others can watch.", show_default=False),
]


@takes_request
def engine(request: "partial[LiveRequest]", wait: Wait = False, share: Share = None) -> None:
    """Serve a run: commands on stdin, the records of a trace on stdout.

    Both are MessagePack; recordings/PROTOCOL.md describes them. Logs go to stderr. It ends with its stdin.
    """
    if str(request.keywords["prompt_file"]) == "-":
        raise Refused("stdin is for commands: start the engine with --wait and give the prompt in an open command")
    if not serve_here(request, wait=wait, share=share):
        raise typer.Exit(Exit.USAGE)
