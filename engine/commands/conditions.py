"""``specstep conditions``: the language of ``--until``, ``--where`` and breakpoints."""

import typer

from engine.commands import run_options as flag
from engine.commands.json_text import as_lines


def conditions(as_json: flag.Json = False) -> None:
    """What conditions are made of: every name with its type, and the rules."""
    from engine.conditions.fields import FIELDS  # noqa: PLC0415
    from engine.conditions.page import lines  # noqa: PLC0415

    if as_json:
        typer.echo(
            as_lines(
                [{"name": field.name, "kind": field.kind, "many": field.many, "help": field.help} for field in FIELDS]
            )
        )
        return
    typer.echo("\n".join(lines()))
