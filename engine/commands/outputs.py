"""Where a command writes to: what can be said of it before anything is read."""

import sys
from pathlib import Path
from typing import BinaryIO, cast

from engine.errors import Refused


def trace_target(output: Path) -> Path | BinaryIO:
    """What ``-o`` names, for a trace; ``-`` is stdout.

    Raises:
        Refused: stdout is a terminal, or closed, or no file can be made there.
    """
    if not is_stdout(output):
        check_file(output)
        return output
    if sys.stdout is None or sys.stdout.isatty():
        raise Refused("a trace is binary: give -o FILE, or send stdout to a file or a pipe")
    buffered = sys.stdout.buffer
    return cast(BinaryIO, getattr(buffered, "raw", buffered))


def is_stdout(output: Path) -> bool:
    """Whether the output is stdout, where nothing else may go then."""
    return str(output) == "-"


def check_file(output: Path) -> None:
    """Raises ``Refused`` if no file can be made at ``output``."""
    if output.is_dir() or not output.parent.is_dir():
        raise Refused(f"-o {output}: no file can be made there; give a file in a folder that exists")


def check_other(output: Path, source: Path, what: str) -> None:
    """Raises ``Refused`` if ``output`` is the file that is read, which the message calls ``what``."""
    if output.exists() and source.exists() and output.samefile(source):
        raise Refused(f"-o {output} is {what}: give another name")
