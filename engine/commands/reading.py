"""Opening a trace for a command, and what the command's status says of it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engine.commands.exits import Exit, complain

if TYPE_CHECKING:
    from engine.trace.reader import Trace

TracePath = Annotated[Path, typer.Argument(metavar="TRACE", help="A trace file.", show_default=False)]


def open_trace(path: Path) -> "Trace":
    """Open a trace, a torn one too.

    Raises:
        TraceError: there is no reading it.
    """
    from engine.trace.reader import Trace  # noqa: PLC0415 (numpy: only to read a trace)

    return Trace(path)


def finish(trace: "Trace") -> None:
    """End the command with the status for an incomplete trace, if it is one, and say why."""
    if trace.torn is not None:
        complain(f"{trace.path}: the trace is torn: {trace.torn}; read as far as it goes, {len(trace)} rounds")
    elif trace.end is None:
        complain(f"{trace.path}: the trace has no end: its writer died, or still writes; {len(trace)} rounds so far")
    else:
        return
    raise typer.Exit(Exit.INCOMPLETE)
