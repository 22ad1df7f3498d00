"""``specstep keys``: every key, by the id under which it can be given another."""

import json
from typing import Annotated

import typer

from engine import paths
from tui.settings import read

Json = Annotated[bool, typer.Option("--json", help="As JSON.")]


def keys(as_json: Json = False) -> None:
    """The keys as they are, with their ids for [keys] in the settings file."""
    file = paths.config_file()
    listed = read(file).keys
    if as_json:
        typer.echo(json.dumps({key.id: list(key.keys) for key in listed if key.keys}))
        return
    width = max(len(key.id) for key in listed)
    for key in listed:
        typer.echo(f"{key.id if key.keys else '':<{width}}  {key.shown:<10} {key.help}")
    typer.echo(f'\nTo change one, write it under [keys] in {file}, as in "round.next" = "j".')
