"""What may stand at a place in a condition: names, operators, the usual values of a text."""

import re
from typing import NamedTuple

from engine.conditions.fields import BY_NAME, FIELDS, Field
from engine.conditions.kinds import BadCondition, Kind
from engine.conditions.words import COMPARISONS, Sort, Word, words


class Offer(NamedTuple):
    """A word, and in a sentence what it is."""

    text: str
    help: str


class Offers(NamedTuple):
    """What may take the place of the characters from ``start`` up to the cursor."""

    start: int
    offers: tuple[Offer, ...]


_OPERATORS = {
    "==": "equal",
    "!=": "not equal",
    "<": "less",
    "<=": "at most",
    ">": "more",
    ">=": "at least",
    "contains": "the text holds this",
    "and": "both hold",
    "or": "one of them holds",
}
_BEFORE = (Offer("not", "The contrary."), Offer("known", "Whether a name has a value in this round."))
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*\Z|[=!<>]\Z|[\"'][^\"']*\Z", re.ASCII)


def complete(expression: str, cursor: int | None = None) -> Offers:
    """What may stand at the cursor (by default the end), as far as what is before it can be read."""
    before = expression if cursor is None else expression[:cursor]
    begun = _WORD.search(before)
    start = begun.start() if begun else len(before)
    try:
        read = words(before[:start])[:-1]
    except BadCondition:
        return Offers(start, ())
    typed = before[start:]
    offers = tuple(offer for offer in _possible(read) if offer.text.startswith(typed))
    exact = len(offers) == 1 and offers[0].text == typed
    return Offers(start, () if exact else offers)


def _possible(read: list[Word]) -> tuple[Offer, ...]:
    last = read[-1] if read else None
    if last is None or (last.sort is Sort.OPERATOR and last.text != ")"):
        field = _field(read[-2]) if len(read) > 1 else None
        if last is not None and last.text in (*COMPARISONS, "contains") and field is not None:
            return _values(field)
        if last is not None and last.text == "known":
            return tuple(Offer(field.name, field.help) for field in FIELDS)
        return (*(Offer(field.name, field.help) for field in FIELDS), *_BEFORE)
    before = read[-2].text if len(read) > 1 else ""
    field = None if before in (*COMPARISONS, "contains", "known") else _field(last)
    return tuple(Offer(name, _OPERATORS[name]) for name in _following(field, before))


def _field(word: Word) -> Field | None:
    return BY_NAME.get(word.text) if word.sort is Sort.NAME else None


def _values(field: Field) -> tuple[Offer, ...]:
    if field.kind is Kind.TEXT:
        return tuple(Offer(f'"{value}"', f"a usual {field.name}") for value in field.values)
    same = (other for other in FIELDS if other.kind is field.kind and not other.many and other is not field)
    return tuple(Offer(other.name, other.help) for other in same)


def _following(field: Field | None, before: str) -> tuple[str, ...]:
    if before in (*COMPARISONS, "contains", "known") or (field is None or field.kind is Kind.YES):
        return ("and", "or")
    return ("==", "!=", "contains") if field.kind is Kind.TEXT else COMPARISONS
