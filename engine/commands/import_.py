"""``specstep import``: a trace of counts from another engine's file."""

from pathlib import Path
from typing import Annotated

import typer

from engine.commands.exits import Exit, complain
from engine.commands.outputs import check_other, is_stdout, trace_target
from engine.commands.saying import say

_TOLD = 10

Format = Annotated[
    str, typer.Argument(help="vllm, dflash-mlx, llama-server, sglang, aiperf or ort-genai.", metavar="FORMAT")
]
Source = Annotated[Path, typer.Argument(help="The file that the engine or the benchmark wrote.", metavar="FILE")]
Output = Annotated[Path, typer.Option("--output", "-o", help="The trace to write; - is stdout.")]
Chosen = Annotated[str | None, typer.Option("--request", help="Which request, where the file holds several.")]


def import_(format_: Format, source: Source, output: Output, request: Chosen = None) -> None:
    """Make a trace of counts from another engine's file.

    Prints what was found to stdout (to stderr with -o -). A line that cannot be read is named on stderr and in the
    trace: exit 3.
    """
    from engine.trace import importers  # noqa: PLC0415 (only for this command)

    check_other(output, source, "the file to read")
    target = trace_target(output)
    found = importers.read(format_, source)
    chosen = importers.choose(found, request)
    for problem in found.problems[:_TOLD]:
        complain(f"{source}, {problem}; skipped")
    if len(found.problems) > _TOLD:
        complain(f"{source}: {len(found.problems) - _TOLD} more lines were skipped")
    for event in chosen.notes:
        complain(event.message)
    importers.write(chosen, found.problems, format_, target)
    what = f"{len(chosen.rounds)} rounds" if chosen.rounds else "totals, no rounds"
    say(f"{output}: {what} of {chosen.name} ({format_}, counts only)", err=is_stdout(output))
    if found.problems:
        raise typer.Exit(Exit.INCOMPLETE)
