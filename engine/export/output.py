"""Writes an export whole or not at all."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TextIO

from engine.beside import beside, is_replaced
from engine.errors import NotWritten


def save(target: Path, chunks: Iterable[str]) -> None:
    """Write the chunks to ``target`` as UTF-8: beside it first, then in its place. A device or a pipe is written to.

    ``-`` is stdout. The file is for its owner's eyes only (mode 0600), as the trace is.

    Raises:
        NotWritten: the target takes no more, or cannot be made; an older file there is left as it was.
    """
    try:
        if str(target) == "-":
            if sys.stdout is None:
                raise NotWritten("stdout: it is closed; nothing is exported")
            _write(sys.stdout, chunks)
        elif is_replaced(target):
            with beside(target) as new:
                _write_file(new, chunks)
        else:
            _write_file(target, chunks)
    except (OSError, UnicodeEncodeError) as error:
        where = "stdout" if str(target) == "-" else str(target)
        raise NotWritten(f"{where}: {_why(error)}; the export is not whole") from error


def _write_file(path: Path, chunks: Iterable[str]) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        _write(stream, chunks)


def _write(stream: TextIO, chunks: Iterable[str]) -> None:
    for chunk in chunks:
        stream.write(chunk)
    stream.flush()


def _why(error: OSError | UnicodeEncodeError) -> str:
    match error:
        case UnicodeEncodeError():
            return f"it takes only {error.encoding} text"
        case _:
            return (error.strerror or str(error)).lower()
