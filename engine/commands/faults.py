"""``specstep faults``: the faults that can be injected, and what finds each."""

from pathlib import Path
from typing import Annotated

import typer

from engine.commands import run_options as flag
from engine.commands.json_text import as_lines

Into = Annotated[
    Path | None,
    typer.Option("--record", metavar="DIRECTORY", help="Record each of them there, and a README.md that lists them."),
]
Model = Annotated[str, typer.Option("--model", help="For --record: what runs in place of the bundled models.")]


def faults(into: Into = None, model: Model = "bundled", as_json: flag.Json = False) -> None:
    """The faults that record --fault can inject, in a sentence each, and what finds them."""
    from engine.faults.gallery import FAULTS  # noqa: PLC0415 (numpy: only for this)
    from engine.faults.page import table  # noqa: PLC0415
    from engine.faults.recording import record_all  # noqa: PLC0415

    if into is not None:
        for path in record_all(into, model):
            typer.echo(path)
    elif as_json:
        keys = ("name", "sentence", "rules", "beside")
        typer.echo(as_lines([{key: getattr(fault, key) for key in keys} for fault in FAULTS]))
    else:
        typer.echo(table())
