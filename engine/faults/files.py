"""The file of a run whose fault is one of files."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from engine.errors import NotWritten
from engine.faults.gallery import named


@contextmanager
def damaged(fault: str | None, target: Path | BinaryIO) -> Iterator[Path | BinaryIO]:
    """What to write a run to: ``target`` itself, or what a fault of that name makes of its bytes.

    Raises:
        NotWritten: the file cannot be made.
        Refused: there is no such fault.
    """
    stream = None if fault is None else named(fault).stream
    if stream is None:
        yield target
    elif isinstance(target, Path):
        try:
            file = open(target, "wb", opener=_private)  # noqa: SIM115 (closed below)
        except OSError as error:
            raise NotWritten(f"{target}: {(error.strerror or str(error)).lower()}; no trace is written") from error
        with file:
            yield stream(file)
    else:
        yield stream(target)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
