"""Values as JSON text that a terminal shows and does not obey."""

import json
from typing import Any

import msgspec

from engine.as_json import as_json


def as_line(value: Any) -> str:
    """On one line. What does not print as itself is written as an escape."""
    line = as_json(value)
    return line if line.isprintable() else "".join(map(_escaped, line))


def as_lines(value: Any) -> str:
    """Indented."""
    return msgspec.json.format(as_line(value), indent=2)


def _escaped(character: str) -> str:
    return character if character.isprintable() else json.dumps(character)[1:-1]
