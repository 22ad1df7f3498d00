"""Cuts a condition into words: names, numbers, quoted text, operators."""

import re
from enum import Enum
from typing import NamedTuple

from engine.conditions.kinds import LONGEST, BadCondition

KEYWORDS = ("and", "or", "not", "known", "contains")
COMPARISONS = ("==", "!=", "<=", ">=", "<", ">")
_MEANT = {"&&": "and", "||": "or", "!": "not", "=": "==", "&": "and", "|": "or", "<>": "!=", "=<": "<=", "=>": ">="}
_WORD = re.compile(
    r"""(?P<space>[ \t\r\n]+)
    |(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)*)
    |(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    |(?P<open>["'])
    |(?P<wrong>&&|\|\||<>|=<|=>|[&|]|=(?!=)|!(?!=))
    |(?P<operator>[=!<>]=|[<>+\-*/%()])""",
    re.VERBOSE | re.ASCII | re.DOTALL,
)


class Sort(Enum):
    """What a word is."""

    NAME = "name"
    NUMBER = "number"
    TEXT = "text"
    OPERATOR = "operator"
    END = "end"


class Word(NamedTuple):
    """A word and where it begins, from 0. A quoted text is without its quotes and escapes."""

    sort: Sort
    text: str
    at: int


def words(expression: str) -> list[Word]:
    """The words, and one for the end.

    Raises:
        BadCondition: there is a character that means nothing here, or a quote that is not closed.
    """
    if len(expression) > LONGEST:
        raise BadCondition(f"a condition has at most {LONGEST} characters", LONGEST + 1, expression)
    found, at = [], 0
    while at < len(expression):
        match = _WORD.match(expression, at)
        if match is None:
            raise BadCondition(f"{expression[at]!a} means nothing here", at + 1, expression)
        kind, text = str(match.lastgroup), match[0]
        if kind == "open":
            raise BadCondition(f"the text that begins here lacks its closing {text}", at + 1, expression)
        if kind == "wrong":
            raise BadCondition(f"write {_MEANT[text]} in place of {text}", at + 1, expression)
        if kind == "text":
            text = re.sub(r"\\(.)", lambda escape: _ESCAPES.get(escape[1], escape[1]), text[1:-1], flags=re.DOTALL)
        if kind != "space":
            operator = kind == "name" and text in KEYWORDS
            found.append(Word(Sort.OPERATOR if operator else Sort(kind), text, at))
        at = match.end()
    return [*found, Word(Sort.END, "", len(expression))]


_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
