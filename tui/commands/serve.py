"""``specstep serve``: the screen in a browser, on this machine only unless told otherwise."""

import ipaddress
import shlex
import sys
from typing import Annotated

import typer

from engine.commands.exits import complain
from engine.errors import Refused

START = "from tui.command import main; main()"

Words = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[TRACE] [-- OPTIONS]",
        help="What `specstep` is to be started with, for each visitor.",
        show_default=False,
    ),
]
Host = Annotated[str, typer.Option("--host", help="The address to listen at.")]
Port = Annotated[int, typer.Option("--port", min=1, max=65535, help="The port to listen at.")]


def serve(words: Words = None, host: Host = "127.0.0.1", port: Port = 8000) -> None:
    """Show the screen in a browser; each visitor has one of their own. Ends with ctrl+c."""
    try:
        from textual_serve.server import Server  # noqa: PLC0415 (an extra)
    except ImportError as error:
        raise Refused("serve needs the extra of that name: pip install 'specstep[serve]'") from error
    from rich.console import Console  # noqa: PLC0415

    if not is_loopback(host):
        complain(f"whoever reaches {host}:{port} can use this screen, and run models with it")
    server = Server(command_for(words or []), host=host, port=port, title="specstep")
    server.console = Console(stderr=True)
    server.serve()


def command_for(words: list[str]) -> str:
    """The command line of a visitor's screen."""
    return shlex.join((sys.executable, "-c", START, *words))


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
