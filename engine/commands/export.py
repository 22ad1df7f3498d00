"""``specstep export``: a trace in another form."""

from pathlib import Path
from typing import Annotated

import typer

from engine.commands.exits import Exit, complain
from engine.commands.reading import TracePath, finish, open_trace
from engine.commands.saying import say
from engine.errors import Refused

To = Annotated[str, typer.Option("--to", help="json, csv, perfetto (also for chrome://tracing), html or svg.")]
Output = Annotated[Path, typer.Option("--output", "-o", help="The file to write; - is stdout.")]


def export(trace: TracePath, to: To, output: Output) -> None:
    """Write a trace as JSON, CSV, Perfetto JSON, HTML report or SVG plot.

    A torn or unfinished trace is exported as far as it goes: exit 3.
    """
    from engine.export import FORMS, NotSaved, chunks, save  # noqa: PLC0415 (only for this command)

    if to not in FORMS:
        raise Refused(f"--to is {to!r}: use one of {', '.join(FORMS)}")
    stdout = str(output) == "-"
    if not stdout and (output.is_dir() or not output.parent.is_dir()):
        raise Refused(f"-o {output}: no file can be made there; give a file in a folder that exists")
    if not stdout and output.exists() and trace.exists() and output.samefile(trace):
        raise Refused(f"-o {output} is the trace itself: give another name")
    with open_trace(trace) as source:
        try:
            save(output, chunks(to, source))
        except NotSaved as error:
            complain(str(error))
            raise typer.Exit(Exit.INCOMPLETE) from error
        if not stdout:
            say(f"{output}: {len(source)} rounds as {to}")
        finish(source)
