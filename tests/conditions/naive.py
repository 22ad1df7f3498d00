"""The language evaluated the slow way, one node at a time, to hold the fast way against."""

from collections.abc import Sequence

from engine.conditions.about import About
from engine.conditions.tree import Both, Compare, Computed, Constant, Known, Named, Node, Not
from engine.records import Round


class Unknown(Exception):
    """The value is not recorded."""


def answer(node: Node, round_: Round, about: About) -> bool:  # noqa: PLR0911 (one for each sort of node)
    """Whether the condition holds."""
    match node:
        case Named(field):
            return bool(field.get(round_, about))
        case Known(field):
            return field.get(round_, about) is not None
        case Not(inner):
            return not answer(inner, round_, about)
        case Both("and", left, right):
            return all((answer(left, round_, about), answer(right, round_, about)))
        case Both("or", left, right):
            return any((answer(left, round_, about), answer(right, round_, about)))
        case Compare(operator, left, right):
            try:
                pairs = [(a, b) for a in values(left, round_, about) for b in values(right, round_, about)]
            except Unknown:
                return False
            return none(pairs) if operator == "!=" else any(holds(operator, a, b) for a, b in pairs)
        case _:
            raise AssertionError(node)


def none(pairs: list[tuple[object, object]]) -> bool:
    return not any(a == b for a, b in pairs)


def holds(operator: str, a: object, b: object) -> bool:
    if operator == "==":
        return a == b
    if isinstance(a, str) and isinstance(b, str):
        assert operator == "contains"
        return b in a
    assert isinstance(a, int | float)
    assert isinstance(b, int | float)
    return {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[operator]


def values(node: Node, round_: Round, about: About) -> Sequence[object]:
    match node:
        case Constant(value):
            return [value]
        case Named(field):
            found = field.get(round_, about)
            if found is None:
                raise Unknown
            return list(found) if field.many and not isinstance(found, str | int | float) else [found]
        case Computed(operator, left, right):
            (a,), (b,) = values(left, round_, about), values(right, round_, about)
            return [computed(operator, float(str(a)), float(str(b)))]
        case _:
            raise AssertionError(node)


def computed(operator: str, a: float, b: float) -> float:
    if operator in "/%" and b == 0:
        raise Unknown
    return {"+": a + b, "-": a - b, "*": a * b, "/": a / (b or 1), "%": a % (b or 1)}[operator]
