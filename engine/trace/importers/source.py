"""A foreign file as numbered lines or JSON values. What cannot be read is a problem with its line, never a silence."""

import codecs
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from engine.errors import TraceError

LARGEST_DOCUMENT = 256 * 1024 * 1024
"""Bytes of a file that is read as one JSON value; a larger one must hold one value a line."""


class Problem(NamedTuple):
    """A line that was skipped, and why. Lines count from 1."""

    line: int
    reason: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.reason}"


class Line(NamedTuple):
    """One line without its end; ``text`` is ``None`` where the bytes are not text."""

    number: int
    text: str | None


class Document(NamedTuple):
    """One JSON value and the line it begins on."""

    line: int
    value: Any


class Documents(NamedTuple):
    """The JSON values of a file, and its lines that hold none."""

    values: list[Document]
    problems: list[Problem]


def lines(path: Path) -> Iterator[Line]:
    """The lines of a log in UTF-8, or in UTF-16 with a byte order mark. Raises ``TraceError``."""
    try:
        with path.open("rb") as file:
            wide = file.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
            file.seek(0)
            rows: Iterator[bytes | str] = iter(file.read().decode("utf-16").splitlines()) if wide else iter(file)
            for number, row in enumerate(rows, 1):
                yield Line(number, _text(row, number))
    except OSError as error:
        raise TraceError(f"{path}: {(error.strerror or str(error)).lower()}") from error
    except UnicodeDecodeError as error:
        raise TraceError(f"{path}: the file begins like UTF-16 but is not (byte {error.start})", error.start) from error


def documents(path: Path) -> Documents:
    """The JSON values of a file: the whole of it, or one a line (with ``data:`` before it in a stream of events).

    Raises:
        TraceError: the file cannot be read, is empty, or holds no JSON at all; the first error is named.
    """
    rows = [row for row in lines(path) if row.text is None or row.text.strip()]
    if not rows:
        raise TraceError(f"{path}: the file is empty")
    whole = _whole(path, rows) if len(rows) > 1 and not _is_json(rows[0].text) else None
    if isinstance(whole, Document):
        return Documents([whole], [])
    found = Documents([], [])
    for row in rows:
        _take(row, found)
    if not found.values:
        raise TraceError(f"{path}: no JSON: {whole or found.problems[0]}")
    return found


def _text(row: bytes | str, number: int) -> str | None:
    if isinstance(row, str):
        return row
    try:
        return row.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
    except UnicodeDecodeError:
        return None


def _whole(path: Path, rows: list[Line]) -> Document | str:
    """The file as one value, or what is wrong with it."""
    if path.stat().st_size > LARGEST_DOCUMENT:
        return f"one value of more than {LARGEST_DOCUMENT} bytes"
    for row in rows:
        if row.text is None:
            return str(Problem(row.number, "not UTF-8"))
    first = rows[0].number
    text = "\n" * (first - 1)
    for row in rows:
        text += "\n" * (row.number - first) + (row.text or "")
        first = row.number
    try:
        return Document(rows[0].number, json.loads(text))
    except json.JSONDecodeError as error:
        return f"line {error.lineno}, column {error.colno}: {error.msg.lower()}"
    except (ValueError, RecursionError) as error:
        return _too_much(error)


def _is_json(text: str | None) -> bool:
    try:
        json.loads(text or "")
    except (ValueError, RecursionError):
        return False
    return True


def _take(row: Line, found: Documents) -> None:
    if row.text is None:
        found.problems.append(Problem(row.number, "not UTF-8"))
        return
    text = row.text.strip()
    if text.startswith(("event:", "id:", "retry:", ":")):
        return
    text = text.removeprefix("data:").strip()
    if text in ("[DONE]", ""):
        return
    try:
        found.values.append(Document(row.number, json.loads(text)))
    except json.JSONDecodeError as error:
        found.problems.append(Problem(row.number, f"not JSON ({error.msg.lower()} at column {error.colno})"))
    except (ValueError, RecursionError) as error:
        found.problems.append(Problem(row.number, _too_much(error)))


def _too_much(error: ValueError | RecursionError) -> str:
    return "the value is nested too deeply" if isinstance(error, RecursionError) else "a number has too many digits"
