"""``specstep engine``: a run as a process that a debugger, or any other program, gives its commands."""

import faulthandler
import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engine.commands.exits import Exit
from engine.commands.requests import takes_request
from engine.errors import Refused

if TYPE_CHECKING:
    from engine.request import LiveRequest

STDIN, STDOUT, STDERR = 0, 1, 2

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
    from engine.process.service import serve  # noqa: PLC0415 (numpy: only for a run)

    if os.isatty(STDOUT):
        raise Refused("an engine speaks MessagePack on stdin and stdout: it is for a program to start, as in --engine")
    if str(request.keywords["prompt_file"]) == "-":
        raise Refused("stdin is for commands: start the engine with --wait and give the prompt in an open command")
    faulthandler.enable()
    made = request()
    answers = claimed(STDOUT, STDERR)
    if not serve(made, STDIN, answers, wait=wait, share=share):
        raise typer.Exit(Exit.USAGE)


def claimed(stdout: int, stderr: int) -> int:
    """A descriptor of our own for what stdout is. Whatever else in this process writes to stdout, writes to stderr."""
    ours = os.dup(stdout)
    os.dup2(stderr, stdout)
    sys.stdout = sys.stderr
    return ours
