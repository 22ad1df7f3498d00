"""What a value of the condition language can be, and the error that says what is wrong with a condition, and where."""

from enum import StrEnum

from engine.errors import Refused

LONGEST = 1000
"""Characters of a condition."""


class Kind(StrEnum):
    """The type of a value, as it is called in messages."""

    NUMBER = "a number"
    TEXT = "text"
    YES = "yes or no"


class BadCondition(Refused):
    """A condition that cannot be read. ``column`` counts characters from 1, ``reason`` is without it."""

    def __init__(self, reason: str, column: int, expression: str) -> None:
        super().__init__(f"{reason} (column {column})")
        self.reason, self.column, self.expression = reason, column, expression
        shown = "".join(c if c.isprintable() else "?" for c in expression)
        self.pointer = f"{shown}\n{' ' * (column - 1)}^"
