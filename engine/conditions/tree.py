"""A condition that was read: a tree of checked nodes."""

import dataclasses
from typing import Literal

from engine.conditions.fields import Field
from engine.conditions.kinds import Kind

Arithmetic = Literal["+", "-", "*", "/", "%"]
Comparison = Literal["==", "!=", "<", "<=", ">", ">=", "contains"]


@dataclasses.dataclass(frozen=True)
class Constant:
    """A number or a text."""

    value: float | str

    @property
    def kind(self) -> Kind:
        return Kind.TEXT if isinstance(self.value, str) else Kind.NUMBER


@dataclasses.dataclass(frozen=True)
class Named:
    """A field."""

    field: Field

    @property
    def kind(self) -> Kind:
        return self.field.kind


@dataclasses.dataclass(frozen=True)
class Known:
    """Whether a field has a value."""

    field: Field
    kind = Kind.YES


@dataclasses.dataclass(frozen=True)
class Not:
    """The contrary."""

    inner: "Node"
    kind = Kind.YES


@dataclasses.dataclass(frozen=True)
class Both:
    """``and`` or ``or``."""

    operator: Literal["and", "or"]
    left: "Node"
    right: "Node"
    kind = Kind.YES


@dataclasses.dataclass(frozen=True)
class Compare:
    """A comparison. At most one side has several values."""

    operator: Comparison
    left: "Node"
    right: "Node"
    kind = Kind.YES


@dataclasses.dataclass(frozen=True)
class Computed:
    """A sum, product and so on."""

    operator: Arithmetic
    left: "Node"
    right: "Node"
    kind = Kind.NUMBER


Node = Constant | Named | Known | Not | Both | Compare | Computed


def many(node: Node) -> bool:
    """Whether the node stands for several values."""
    return isinstance(node, Named) and node.field.many


def fields(node: Node) -> frozenset[Field]:
    """The fields in it."""
    match node:
        case Named(field) | Known(field):
            return frozenset((field,))
        case Not(inner):
            return fields(inner)
        case Both(_, left, right) | Compare(_, left, right) | Computed(_, left, right):
            return fields(left) | fields(right)
        case Constant():
            return frozenset()
