"""``specstep export``: a trace in another form."""

from pathlib import Path
from typing import Annotated

import typer

from engine.commands.outputs import check_file, check_other, is_stdout
from engine.commands.reading import TracePath, finish, open_trace
from engine.commands.saying import say
from engine.errors import Refused

To = Annotated[str, typer.Option("--to", help="json, csv, perfetto (also for chrome://tracing), html or svg.")]
Output = Annotated[Path, typer.Option("--output", "-o", help="The file to write; - is stdout.")]


def export(trace: TracePath, to: To, output: Output) -> None:
    """Write a trace as JSON, CSV, Perfetto JSON, HTML report or SVG plot.

    A torn or unfinished trace is exported as far as it goes: exit 3.
    """
    from engine.export import FORMS, chunks, save  # noqa: PLC0415 (only for this command)

    if to not in FORMS:
        raise Refused(f"--to is {to!r}: use one of {', '.join(FORMS)}")
    stdout = is_stdout(output)
    if not stdout:
        check_other(output, trace, "the trace itself")
        check_file(output)
    with open_trace(trace) as source:
        save(output, chunks(to, source))
        if not stdout:
            say(f"{output}: {len(source)} rounds as {to}")
        finish(source)
