"""The commands that need no screen, as one Typer app that loads each of them when it is asked for."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import typer
from typer.main import get_command

from engine.commands.exits import Commands
from engine.commands.table import COMMANDS


def app_of(table: Mapping[str, str]) -> typer.Typer:
    """The app of the commands in a table as in ``engine.commands.table``."""

    class Late(Commands):
        def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 (Typer's)
            return list(table)

        def get_command(self, ctx: Any, cmd_name: str) -> Any:
            # Of a name that there is not Typer says which one was meant: it must know them all.
            for name in (cmd_name,) if cmd_name in table else table:
                if name not in self.commands:
                    self.commands[name] = loaded(name, table[name])
            return super().get_command(ctx, cmd_name)

    app = typer.Typer(
        name="specstep",
        cls=Late,
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        help="A debugger for speculative decoding. These commands need no terminal; `specstep TRACE` opens the screen.",
        epilog="Exit status: 0 ok, 1 the answer is no, 2 usage, 3 incomplete trace read as far as it goes, or output "
        "that is not whole, 4 unreadable, 130 interrupted.",
    )
    app.callback()(_nothing)
    return app


def loaded(name: str, place: str) -> Any:
    """The command at a place, "module:name", as Typer runs it."""
    module, _, attribute = place.partition(":")
    found = getattr(import_module(module), attribute)
    if isinstance(found, typer.Typer):
        app = found
    else:
        app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
        app.command(name)(found)
    command = get_command(app)
    command.name = name
    return command


def _nothing() -> None:
    """What an app without a command of its own does before the one that was asked for."""


app = app_of(COMMANDS)
