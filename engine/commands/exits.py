"""How a command ends: one line on stderr for an error of ours, and the exit status that goes with it."""

from enum import IntEnum
from typing import Any

import typer
from typer.core import TyperGroup

from engine.commands.saying import printable, say
from engine.errors import EngineFault, ModelError, NotWritten, Refused, SpecstepError, TraceError


class Exit(IntEnum):
    """What the status of a finished command says."""

    OK = 0
    NO = 1
    """The answer is no: traces differ, findings, not exact, a run that broke."""
    USAGE = 2
    INCOMPLETE = 3
    """An incomplete trace, read as far as it goes, or an output that is not whole."""
    UNREADABLE = 4
    INTERRUPTED = 130


def exit_of(error: SpecstepError) -> Exit:
    """The status for an error that ends a command."""
    match error:
        case NotWritten():
            return Exit.INCOMPLETE
        case TraceError():
            return Exit.UNREADABLE
        case Refused() | ModelError():
            return Exit.USAGE
        case EngineFault():
            return Exit.NO
        case _:
            return Exit.NO


def complain(message: str) -> None:
    """One line on stderr."""
    say(f"specstep: {printable(message)}", err=True)


def complain_of(error: SpecstepError) -> None:
    """An error on stderr; under it the place that it is about, if it shows one."""
    file = error.file if isinstance(error, TraceError) else None
    complain(str(error) if file is None or file in str(error) else f"{file}: {error}")
    for line in error.pointer.splitlines():
        say(f"  {line}", err=True)


class Commands(TyperGroup):
    """Commands whose errors of ours become a line and a status instead of a traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except SpecstepError as error:
            complain_of(error)
            raise typer.Exit(exit_of(error)) from error
        except KeyboardInterrupt as interrupt:
            complain("interrupted")
            raise typer.Exit(Exit.INTERRUPTED) from interrupt
