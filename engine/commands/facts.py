"""How the values that a command found are written for people."""

from typing import Any

from engine.commands.show import visible


def on_one_line(value: Any) -> str:
    """A value of a manifest or a trace on one line, nothing of it raw."""
    match value:
        case None | "":
            return "-"
        case dict():
            return ", ".join(f"{key} {on_one_line(each)}" for key, each in value.items()) or "-"
        case list() | tuple():
            return " ".join(map(str, value)) or "-"
        case _:
            return visible(str(value).encode("utf-8", "surrogateescape"))[1:-1]
