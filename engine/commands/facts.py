"""How the values that a command found are written for people."""

from typing import Any

from engine.commands.saying import printable


def on_one_line(value: Any) -> str:
    """A value of a manifest or a trace on one line, nothing of it raw."""
    match value:
        case None | "":
            return "-"
        case dict():
            return ", ".join(f"{printable(key)} {on_one_line(each)}" for key, each in value.items()) or "-"
        case list() | tuple():
            return " ".join(map(printable, value)) or "-"
        case _:
            return printable(value)
