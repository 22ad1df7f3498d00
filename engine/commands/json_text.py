"""Values as JSON text: bytes as base64, and null for a number that JSON does not have (NaN, infinity)."""

import json
from typing import Any

import msgspec


def as_line(value: Any) -> str:
    """On one line. Bytes of a text that were no UTF-8, and what does not print as itself, are written as escapes."""
    try:
        line = msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        line = msgspec.json.encode(_mended(value)).decode()
    return line if line.isprintable() else "".join(map(_escaped, line))


def as_lines(value: Any) -> str:
    """Indented."""
    return msgspec.json.format(as_line(value), indent=2)


def _escaped(character: str) -> str:
    return character if character.isprintable() else json.dumps(character)[1:-1]


def _mended(value: Any) -> Any:
    match value:
        case str():
            return value.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
        case list() | tuple():
            return [_mended(each) for each in value]
        case dict():
            return {_mended(key): _mended(each) for key, each in value.items()}
        case msgspec.Struct():
            return _mended(msgspec.structs.asdict(value))
        case _:
            return value
