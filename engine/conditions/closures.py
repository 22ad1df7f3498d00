"""Turns a tree into one function of a round, so that a million of them are asked quickly.

A value that is not recorded is ``None``; a comparison with it is false, and what is computed from it is not known
either. Of several values one must meet the comparison; for ``!=`` none may be equal.
"""

import operator
from collections.abc import Callable
from typing import Any

from engine.conditions.about import About
from engine.conditions.tree import Both, Compare, Computed, Constant, Known, Named, Node, Not, many
from engine.records import Round

Question = Callable[[Round, About], bool]
_Value = Callable[[Round, About], Any]
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "contains": operator.contains,
}
_COMPUTE: dict[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "%": operator.mod,
}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def question(node: Node) -> Question:
    """The function that answers a tree of kind ``Kind.YES``."""
    match node:
        case Named(field):
            get = field.get
            return lambda round_, about: bool(get(round_, about))
        case Known(field):
            get = field.get
            return lambda round_, about: get(round_, about) is not None
        case Not(inner):
            ask = question(inner)
            return lambda round_, about: not ask(round_, about)
        case Both(joint, left, right):
            first, second = question(left), question(right)
            if joint == "and":
                return lambda round_, about: first(round_, about) and second(round_, about)
            return lambda round_, about: first(round_, about) or second(round_, about)
        case Compare():
            return _comparison(node)
        case _:
            raise AssertionError("checked by the parser")


def _comparison(node: Compare) -> Question:
    name: str = node.operator
    left, right = node.left, node.right
    if many(right):
        name, left, right = _MIRRORED.get(name, name), right, left
    if many(left):
        return _several(name, _value(left), _value(right))
    return _one(_COMPARE[name], left, right)


def _one(compare: Callable[[Any, Any], bool], left: Node, right: Node) -> Question:
    get = _value(left)
    if isinstance(right, Constant):
        constant = right.value

        def against(round_: Round, about: About) -> bool:
            value = get(round_, about)
            return value is not None and compare(value, constant)

        return against
    other = _value(right)

    def both(round_: Round, about: About) -> bool:
        first, second = get(round_, about), other(round_, about)
        return first is not None and second is not None and compare(first, second)

    return both


def _several(name: str, get: _Value, other: _Value) -> Question:
    compare = _COMPARE["==" if name == "!=" else name]
    unlike = name == "!="

    def any_of(round_: Round, about: About) -> bool:
        values, single = get(round_, about), other(round_, about)
        if values is None or single is None:
            return False
        for value in values:
            if compare(value, single):
                return not unlike
        return unlike

    return any_of


def _value(node: Node) -> _Value:
    match node:
        case Constant(value):
            return lambda _, __: value
        case Named(field):
            return field.get
        case Computed(name, left, right):
            return _computed(_COMPUTE[name], _value(left), _value(right))
        case _:
            raise AssertionError("checked by the parser")


def _computed(compute: Callable[[float, float], float], left: _Value, right: _Value) -> _Value:
    def value(round_: Round, about: About) -> float | None:
        first, second = left(round_, about), right(round_, about)
        if first is None or second is None:
            return None
        try:
            return compute(float(first), float(second))
        except ZeroDivisionError:
            return None

    return value
