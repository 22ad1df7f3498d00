"""Writes an export whole or not at all."""

import os
import sys
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from engine.errors import TraceError


class NotSaved(TraceError):
    """An export that is not whole where it was to go."""


def save(target: Path, chunks: Iterable[str]) -> None:
    """Write the chunks to ``target`` as UTF-8: beside it first, then in its place. A device or a pipe is written to.

    ``-`` is stdout. The file is for its owner's eyes only (mode 0600), as the trace is.

    Raises:
        NotSaved: the target takes no more, or cannot be made; an older file there is left as it was.
    """
    try:
        if str(target) == "-":
            _write(sys.stdout, chunks)
        elif target.exists() and not target.is_file():
            with target.open("w", encoding="utf-8", newline="") as stream:
                _write(stream, chunks)
        else:
            _replace(target, chunks)
    except (OSError, UnicodeEncodeError) as error:
        where = "stdout" if str(target) == "-" else str(target)
        raise NotSaved(f"{where}: {_why(error)}; the export is not whole") from error


def _replace(target: Path, chunks: Iterable[str]) -> None:
    fd, beside = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with open(fd, "w", encoding="utf-8", newline="") as stream:
            _write(stream, chunks)
        os.replace(beside, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside)
        raise


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
